#!/bin/sh
# One AssembleContext call from the shell. No .proto file is needed: the gateway describes itself by reflection.
#
#     muniment serve &
#     examples/shell/assemble.sh [HOST:PORT]
#
# `buf` comes with `make setup` (in .venv/bin), or from https://buf.build/docs/installation.
set -eu

address=${1:-${MUNIMENT_ADDRESS:-127.0.0.1:7463}}
turn_id="turn-$(date +%s)-$$"

exec buf curl --protocol grpc --http2-prior-knowledge --data @- \
    "http://$address/muniment.v1.ContextService/AssembleContext" <<END
{
  "session": {"tenantId": "acme", "userId": "dana", "sessionId": "monday"},
  "turn": {
    "turnId": "$turn_id",
    "role": "ROLE_USER",
    "contents": [{"text": "How long do we have to pay Nordwind?"}]
  },
  "material": [
    {
      "title": "Framework contract, section 4",
      "source": "contract archive",
      "text": "4.1 Invoices are due within 14 days of the invoice date."
    }
  ],
  "budget": {"maxInputTokens": 800}
}
END
