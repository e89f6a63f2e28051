"""A user with facts and two past sessions, and a question about them, for tests of traces over the wire."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from gateway.client.client import Client
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    prompt_pb2,
    types_pb2,
)

TENANT = "acme"
DAY = timedelta(days=1)

POLICY = b"""
policy_id: desk
sections:
  - prefix: {prefix_id: desk, required: true}
  - facts: {}
    budget: {ceiling_tokens: 200}
  - history: {max_excerpts: 2}
  - material: {}
    budget: {ceiling_tokens: 60}
  - session: {}
  - question: {}
model: {provider: openai, model: gpt-4o}
budget: {max_input_tokens: 2000}
facts:
  allowlist:
    - {key: plan, type: TEXT, kind: ATTRIBUTE, purpose: Limits differ by plan.}
    - {key: tone, type: TEXT, kind: PREFERENCE, purpose: Write as the user likes.}
archive: {keep_turns: true, on_end_session: true}
"""


def ago(days: float) -> Timestamp:
    """That many days before now."""
    moment = Timestamp()
    moment.FromDatetime(datetime.now(UTC) - days * DAY)
    return moment


def prepare_tenant(client: Client) -> str:
    """Register prefix and policy, make the policy the tenant's default; its revision's name."""
    client.call(
        client.prefixes.RegisterPrefixRevision,
        prefix_pb2.RegisterPrefixRevisionRequest(
            tenant_id=TENANT,
            prefix_id="desk",
            text="You help customers of a coffee roaster.",
            tools=[
                types_pb2.ToolDefinition(
                    name="lookup", definition_json=b'{"name":"lookup","description":"x"}'
                )
            ],
        ),
    )
    registered = client.call(
        client.policies.RegisterPolicyRevision,
        policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=TENANT, yaml=POLICY),
    )
    client.call(
        client.policies.ActivatePolicyRevision,
        policy_service_pb2.ActivatePolicyRevisionRequest(name=registered.revision.name, tenant_default=True),
    )
    return registered.revision.name


@dataclass(frozen=True)
class Customer:
    """A user of the tenant, with what they can do."""

    client: Client
    user_id: str

    @property
    def user(self) -> types_pb2.UserRef:
        return types_pb2.UserRef(tenant_id=TENANT, user_id=self.user_id)

    def state(self, key: str, value: str, days_ago: float = 3, source: str = "crm") -> str:
        """Record a fact; its name."""
        answer = self.client.call(
            self.client.facts.RecordFacts,
            fact_pb2.RecordFactsRequest(
                user=self.user,
                facts=[
                    fact_pb2.Fact(
                        key=key,
                        text=value,
                        origin=types_pb2.FACT_ORIGIN_TOOL,
                        source=source,
                        writer="billing-agent",
                        read_time=ago(days_ago),
                    )
                ],
            ),
        )
        assert answer.results[0].verdict == fact_pb2.FactResult.VERDICT_ACCEPTED
        return answer.results[0].fact.name

    def remember(self, *texts: str, days_ago: float = 30, session_id: str = "s-old") -> None:
        """Archive a past session with one USER turn for each text."""
        turns = [
            types_pb2.Turn(
                turn_id=f"{session_id}-{place}",
                role=types_pb2.ROLE_USER,
                contents=[types_pb2.Content(text=text)],
                occur_time=ago(days_ago),
            )
            for place, text in enumerate(texts)
        ]
        session = history_pb2.PastSession(session_id=session_id, start_time=ago(days_ago), turns=turns)
        self.client.call(
            self.client.history.ImportHistory,
            history_pb2.ImportHistoryRequest(user=self.user, sessions=[session]),
        )

    def request(
        self, question: str, turn_id: str = "t1", session_id: str = "s1", **more: object
    ) -> context_pb2.AssembleContextRequest:
        """A question as it is asked."""
        turn = types_pb2.Turn(
            turn_id=turn_id, role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text=question)]
        )
        session = types_pb2.SessionRef(tenant_id=TENANT, user_id=self.user_id, session_id=session_id)
        return context_pb2.AssembleContextRequest(session=session, turn=turn, **more)  # type: ignore[arg-type]

    def ask(
        self, question: str, turn_id: str = "t1", session_id: str = "s1", **more: object
    ) -> context_pb2.AssembleContextResponse:
        """Have a prompt assembled."""
        return self.client.call(
            self.client.context.AssembleContext, self.request(question, turn_id, session_id, **more)
        )


def settled(client: Client, user_id: str) -> Customer:
    """A customer with a plan, a tone and two past sessions about grinders, kettles and invoices."""
    customer = Customer(client, user_id)
    customer.state("plan", "starter", days_ago=60)
    customer.state("plan", "team", days_ago=14)
    customer.state("tone", "short and friendly", days_ago=5)
    customer.remember(
        "The burr grinder jams on dark roasts.", "Please send the invoice to the office.", days_ago=40
    )
    customer.remember(
        "My kettle leaks at the spout.",
        "The grinder is loud since the repair.",
        "The grinder needs new burrs, says the shop.",
        days_ago=20,
        session_id="s-older",
    )
    return customer


def text_at(prompt: prompt_pb2.Prompt, message: int, part: int, offset: int, length: int) -> str:
    """The bytes of a prompt at a place, as text."""
    if message < 0:
        return prompt.tools[part].definition_json[offset : offset + length].decode()
    content = prompt.messages[message].parts[part].content
    return content.text.encode()[offset : offset + length].decode()
