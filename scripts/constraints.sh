#!/bin/sh
# Write constraints.txt: one resolution for every platform and Python, without the hosts that a lock file records.
set -eu
cd "$(dirname "$0")/.."
UV=${UV:-uv}
command -v "$UV" >/dev/null || { echo "uv is needed: https://docs.astral.sh/uv/ (or name it with UV=...)" >&2; exit 1; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$UV" pip compile --quiet --universal --python-version 3.11 --extra dev --extra embed --extra otel --extra postgres --upgrade \
    --no-header --no-annotate --no-emit-index-url pyproject.toml -o "$out"
{
    echo "# What was tested together, for every platform and Python >= 3.11; written by \`make constraints\`."
    cat "$out"
} >constraints.txt
