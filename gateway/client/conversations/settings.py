"""The first line of a conversation, its prefixes and its facts."""

import json
from datetime import datetime
from pathlib import Path

from gateway.client.conversations.fields import Fields
from gateway.client.conversations.records import Header, PolicySource
from gateway.client.conversations.rules import check
from muniment.v1.fact_pb2 import Fact
from muniment.v1.prefix_pb2 import RegisterPrefixRevisionRequest
from muniment.v1.types_pb2 import Budget, FactKind, FactOrigin, ModelProfile, Subject, ToolDefinition, UserRef

_ORIGINS = ("STATED", "TOOL", "IMPORTED", "OPERATOR")
_KINDS = ("PREFERENCE", "CONTEXT", "CORRECTION", "ATTRIBUTE")
_FACT_FIELDS = dict.fromkeys(("text", "integer", "number", "flag", "instant", "statement"), "value") | {
    "read_time": "read",
    "expire_time": "expires",
}


def read_header(fields: Fields, folder: Path) -> Header:
    """The first line. A policy's path is relative to `folder`, where the conversation's file is."""
    header = Header(
        title=fields.text("title", ""),
        tenant=fields.text("tenant"),
        user=fields.text("user"),
        time_zone=fields.text("time_zone", "UTC"),
        policy=_policy(fields, folder),
        model=_model(fields),
        budget=_budget(fields),
    )
    check(
        UserRef(tenant_id=header.tenant, user_id=header.user),
        fields,
        {"tenant_id": "tenant", "user_id": "user"},
    )
    return header


def _policy(fields: Fields, folder: Path) -> PolicySource | str:
    if not fields.has("policy"):
        return ""
    value = fields.value("policy")
    if isinstance(value, dict):
        # JSON is YAML too, and a place within the line is of no use: the diagnostics name the field.
        return PolicySource("", json.dumps(value, ensure_ascii=False).encode())
    text = fields.text("policy")
    if not text.endswith((".yaml", ".yml")):
        return text
    path = folder / text
    try:
        return PolicySource(str(path), path.read_bytes())
    except OSError as error:
        fields.refuse("policy", f"is {str(path)!r}, which cannot be read: {error.strerror}")


def _model(fields: Fields) -> ModelProfile | None:
    if not fields.has("model"):
        return None
    inner = fields.nested("model")
    model = ModelProfile(
        provider=inner.text("provider"), model=inner.text("model"), tokenizer=inner.text("tokenizer", "")
    )
    if inner.has("context_window_tokens"):
        model.context_window_tokens = inner.integer("context_window_tokens")
    inner.finish()
    check(model, inner)
    return model


def _budget(fields: Fields) -> Budget | None:
    if not fields.has("budget"):
        return None
    inner = fields.nested("budget")
    budget = Budget()
    for name in ("max_input_tokens", "reserve_output_tokens"):
        if inner.has(name):
            setattr(budget, name, inner.integer(name))
    inner.finish()
    check(budget, inner)
    return budget


def read_prefix(fields: Fields, tenant: str) -> RegisterPrefixRevisionRequest:
    """A prefix to register."""
    request = RegisterPrefixRevisionRequest(
        tenant_id=tenant,
        prefix_id=fields.text("prefix_id"),
        text=fields.text("text", ""),
        allowed_patterns=fields.texts("allowed_patterns"),
    )
    for tool in fields.objects("tools"):
        definition = {name: tool.value(name) for name in ("description", "parameters") if tool.has(name)}
        encoded = json.dumps(definition, ensure_ascii=False).encode()
        request.tools.append(ToolDefinition(name=tool.text("name"), definition_json=encoded))
        tool.finish()
    check(request, fields)
    return request


def read_fact(fields: Fields, now: datetime) -> Fact:
    """A fact to offer."""
    fact = Fact(
        key=fields.text("key"),
        origin=FactOrigin.Value(f"FACT_ORIGIN_{fields.choice('origin', _ORIGINS)}"),
        source=fields.text("source"),
        source_turn=fields.text("source_turn", ""),
        writer=fields.text("writer"),
    )
    _set_value(fields, fact)
    if fields.has("subject"):
        fact.subject.CopyFrom(_subject(fields.nested("subject")))
    if fields.has("kind"):
        fact.kind = FactKind.Value(f"FACT_KIND_{fields.choice('kind', _KINDS)}")
    if fields.has("confidence"):
        fact.confidence = fields.number("confidence")
    read = fields.instant("read", "now")
    if read > now:
        fields.refuse("read", "is in the future: a fact was read before it is recorded")
    fact.read_time.FromDatetime(read)
    if fields.has("expires"):
        fact.expire_time.FromDatetime(fields.instant("expires"))
    check(fact, fields, _FACT_FIELDS)
    return fact


def _set_value(fields: Fields, fact: Fact) -> None:
    """A JSON value has the type that it shows; `{"statement": …}` and `{"instant": …}` name theirs."""
    value = fields.value("value")
    if isinstance(value, bool):
        fact.flag = value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        fact.integer = value
    elif isinstance(value, float):
        fact.number = value
    elif isinstance(value, str):
        fact.text = value
    elif isinstance(value, dict):
        _set_named_value(fields.nested("value"), fact)
    else:
        fields.refuse(
            "value",
            'has no type that a fact can have: write a text, a number, true, false or {"statement": …}',
        )


def _set_named_value(fields: Fields, fact: Fact) -> None:
    if fields.has("statement"):
        fact.statement = fields.text("statement")
    elif fields.has("instant"):
        fact.instant.FromDatetime(fields.instant("instant"))
    else:
        fields.refuse("", 'names no type: write {"statement": …} or {"instant": …}')
    fields.finish()


def _subject(fields: Fields) -> Subject:
    if fields.has("account"):
        subject = Subject(account=Subject.Account(id=fields.text("account")))
    else:
        subject = Subject(entity=Subject.Entity(type=fields.text("type"), id=fields.text("id")))
    fields.finish()
    check(subject, fields, {"account": "account", "entity": ""})
    return subject
