"""One good request for each method, with every field set that goes together with the others."""

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)

TENANT = "acme"
USER = types_pb2.UserRef(tenant_id=TENANT, user_id="ada")
SESSION = types_pb2.SessionRef(tenant_id=TENANT, user_id="ada", session_id="s1")
MODEL = types_pb2.ModelProfile(provider="openai", model="gpt-4o")
POLICY = f"tenants/{TENANT}/policies/desk"
PREFIX = f"tenants/{TENANT}/prefixes/desk"
TRACE = f"tenants/{TENANT}/traces/{'0' * 32}"
FACT = f"tenants/{TENANT}/users/ada/facts/1"
PAST = Timestamp(seconds=1_790_000_000)
REQUEST_ID = "3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f41"

DESK = """
policy_id: desk
sections:
  - prefix: {prefix_id: desk}
  - facts: {}
  - history: {}
  - material: {}
  - session: {}
  - question: {}
budget: {max_input_tokens: 8000}
facts:
  allowlist:
    - {key: plan, type: TEXT, kind: ATTRIBUTE, values: [starter, team], purpose: Limits differ by plan.}
    - {key: currency, type: TEXT, kind: PREFERENCE, purpose: Amounts as the books have them.}
    - {key: note, type: TEXT, kind: CONTEXT, purpose: What the user is busy with.}
    - {key: wish, type: STATEMENT, kind: PREFERENCE, purpose: Standing instructions.}
    - {key: seats, type: INTEGER, kind: ATTRIBUTE, purpose: Sizes.}
slots:
  focus_types: [supplier]
  filters: [{key: period}, {key: region, values: [EMEA, APAC]}]
  formats: [short, table]
  tool_bindings:
    - tool: lookup
      focus_type: supplier
      focus_id_field: id
      focus_label_field: name
archive: {keep_turns: true, on_end_session: true}
"""


def user_turn(text: str, turn_id: str = "t1") -> types_pb2.Turn:
    return types_pb2.Turn(
        turn_id=turn_id, role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text=text)], occur_time=PAST
    )


def context_request(
    text: str = "What is new?", turn_id: str = "t1", session: types_pb2.SessionRef = SESSION
) -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(session=session, turn=user_turn(text, turn_id))


def fact(key: str = "note", text: str = "moves house", source: str = "chat") -> fact_pb2.Fact:
    return fact_pb2.Fact(
        key=key, text=text, origin=types_pb2.FACT_ORIGIN_STATED, source=source, writer="agent", read_time=PAST
    )


def facts_request(*facts: fact_pb2.Fact, user: types_pb2.UserRef = USER) -> fact_pb2.RecordFactsRequest:
    return fact_pb2.RecordFactsRequest(user=user, facts=facts)


def past_session(session_id: str, *texts: str, start: Timestamp = PAST) -> history_pb2.PastSession:
    turns = [user_turn(text, f"{session_id}-{place}") for place, text in enumerate(texts)]
    return history_pb2.PastSession(session_id=session_id, start_time=start, turns=turns)


def import_request(*sessions: history_pb2.PastSession, user: types_pb2.UserRef = USER) -> Message:
    return history_pb2.ImportHistoryRequest(user=user, sessions=sessions)


def _whole_context() -> context_pb2.AssembleContextRequest:
    request = context_request()
    request.model.CopyFrom(MODEL)
    request.budget.max_input_tokens = 4000
    request.material.add(text="A text.", title="A title", source="kb", read_time=PAST)
    request.formats.append(types_pb2.PROMPT_FORMAT_TEXT)
    request.labels["team"] = "blue"
    return request


def _tool() -> types_pb2.ToolDefinition:
    return types_pb2.ToolDefinition(name="lookup", definition_json=b'{"description":"Looks up."}')


def _slots() -> types_pb2.Slots:
    return types_pb2.Slots(
        focus=types_pb2.Focus(type="supplier", id="s-1", label="Acme"),
        filters=[types_pb2.Filter(key="period", value="Q3")],
        answer_format="short",
    )


GOOD: dict[str, Message] = {
    "AssembleContext": _whole_context(),
    "ExplainContext": context_pb2.ExplainContextRequest(request=_whole_context()),
    "CountTokens": context_pb2.CountTokensRequest(tenant_id=TENANT, model=MODEL, texts=["one"]),
    "ReportUsage": context_pb2.ReportUsageRequest(trace=TRACE, input_tokens=10),
    "RecordTurns": session_pb2.RecordTurnsRequest(session=SESSION, turns=[user_turn("Hello.")]),
    "GetSession": session_pb2.GetSessionRequest(session=SESSION),
    "UpdateSlots": session_pb2.UpdateSlotsRequest(
        session=SESSION, slots=_slots(), update_mask=FieldMask(paths=["focus", "filters", "answer_format"])
    ),
    "EndSession": session_pb2.EndSessionRequest(session=SESSION),
    "RecordFacts": facts_request(fact()),
    "GetFact": fact_pb2.GetFactRequest(name=FACT),
    "ListFacts": fact_pb2.ListFactsRequest(user=USER),
    "InvalidateFacts": fact_pb2.InvalidateFactsRequest(user=USER, key="note", reason="moved"),
    "DeleteFact": fact_pb2.DeleteFactRequest(name=FACT),
    "ImportHistory": import_request(past_session("old", "I like tea.")),
    "SearchHistory": history_pb2.SearchHistoryRequest(user=USER, query="tea"),
    "RegisterPolicyRevision": policy_service_pb2.RegisterPolicyRevisionRequest(
        tenant_id=TENANT, yaml=DESK.encode()
    ),
    "ValidatePolicy": policy_service_pb2.ValidatePolicyRequest(tenant_id=TENANT, yaml=DESK.encode()),
    "GetPolicy": policy_service_pb2.GetPolicyRequest(name=POLICY),
    "ListPolicies": policy_service_pb2.ListPoliciesRequest(tenant_id=TENANT),
    "ListPolicyRevisions": policy_service_pb2.ListPolicyRevisionsRequest(policy=POLICY),
    "ActivatePolicyRevision": policy_service_pb2.ActivatePolicyRevisionRequest(
        name=f"{POLICY}/revisions/{'0' * 64}"
    ),
    "RollbackPolicy": policy_service_pb2.RollbackPolicyRequest(name=POLICY),
    "RegisterPrefixRevision": prefix_pb2.RegisterPrefixRevisionRequest(
        tenant_id=TENANT, prefix_id="desk", text="You help.", tools=[_tool()], allowed_patterns=["date"]
    ),
    "GetPrefixRevision": prefix_pb2.GetPrefixRevisionRequest(name=PREFIX),
    "ListPrefixRevisions": prefix_pb2.ListPrefixRevisionsRequest(prefix=PREFIX),
    "GetTrace": trace_pb2.GetTraceRequest(name=TRACE),
    "ListTraces": trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id="ada"),
    "ExplainItem": trace_pb2.ExplainItemRequest(trace=TRACE, item_id="fact/1"),
    "ExplainAbsence": trace_pb2.ExplainAbsenceRequest(trace=TRACE, text="tea"),
    "ListAppearances": trace_pb2.ListAppearancesRequest(user=USER, item_id="fact/1"),
    "ReplayTrace": trace_pb2.ReplayTraceRequest(name=TRACE, formats=[types_pb2.PROMPT_FORMAT_TEXT]),
}
