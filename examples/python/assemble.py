"""One AssembleContext call: a question and a document in, a prompt for OpenAI out, and where each line comes from.

muniment serve &
python examples/python/assemble.py [HOST:PORT]
"""

import sys
import uuid

import grpc

from muniment.v1 import context_pb2, context_pb2_grpc, types_pb2

REQUEST = context_pb2.AssembleContextRequest(
    session=types_pb2.SessionRef(tenant_id="acme", user_id="dana", session_id="monday"),
    turn=types_pb2.Turn(
        turn_id=f"turn-{uuid.uuid4()}",
        role=types_pb2.ROLE_USER,
        contents=[types_pb2.Content(text="How long do we have to pay Nordwind?")],
    ),
    material=[
        context_pb2.Material(
            title="Framework contract, section 4",
            source="contract archive",
            text="4.1 Invoices are due within 14 days of the invoice date.",
        )
    ],
    budget=types_pb2.Budget(max_input_tokens=800),
    formats=[types_pb2.PROMPT_FORMAT_OPENAI_CHAT],
)


def main(address: str) -> None:
    """Ask, and print the body for the provider and the origin of every run of bytes."""
    with grpc.insecure_channel(address) as channel:
        answer = context_pb2_grpc.ContextServiceStub(channel).AssembleContext(REQUEST, timeout=2)

    print(answer.prompt.rendered[0].body.decode())
    report = answer.prompt.budget_report
    print(f"\n{report.used} of {report.limit} tokens, trace {answer.trace}\n")
    for message in answer.prompt.messages:
        for part in message.parts:
            text = part.content.text.encode()
            for span in part.spans:
                print(f"{span.item_id:>26} | {text[span.offset : span.offset + span.length].decode()!r}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7463")
