"""`why`, `why-not`, `replay` and `trace`: what an auditor asks."""

import typer
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection, Who
from gateway.cli.run import references
from gateway.cli.run.output import calling, emit, fail
from gateway.cli.show.budget import budget_view
from gateway.cli.show.explanations import instant, replay_view, why_not_view, why_view
from gateway.cli.show.tables import appearances_table, candidates_table, traces_table
from gateway.cli.show.visible import visible
from muniment.v1.trace_pb2 import (
    ExplainAbsenceRequest,
    ExplainItemRequest,
    GetTraceRequest,
    ListAppearancesRequest,
    ListAppearancesResponse,
    ListTracesRequest,
    ReplayTraceRequest,
    Trace,
)
from muniment.v1.types_pb2 import UserRef


def why(connection: Connection, who: Who, trace: str, item: str) -> None:
    """The line of descent of an item of a prompt."""
    with calling(connection) as client:
        name = references.trace_name(client, trace, who)
        request = ExplainItemRequest(trace=name, item_id=references.item_id(item))
        answer = client.call(client.traces.ExplainItem, request)
    emit(connection, answer, why_view(answer))


def why_not(connection: Connection, who: Who, trace: str, missed: dict[str, str]) -> None:
    """The reason that something is absent; `missed` has one of `fact`, `fact_name`, `excerpt`, `text`."""
    given = {kind: value for kind, value in missed.items() if value}
    if len(given) != 1:
        fail("say what is missed with one of --fact, --fact-name, --excerpt, --text", ExitCode.USAGE)
    with calling(connection) as client:
        request = ExplainAbsenceRequest(trace=references.trace_name(client, trace, who))
        _set_missed(request, *given.popitem(), who)
        answer = client.call(client.traces.ExplainAbsence, request)
    emit(connection, answer, why_not_view(answer))


def _set_missed(request: ExplainAbsenceRequest, kind: str, value: str, who: Who) -> None:
    if kind == "fact":
        request.fact_key.key = value
    elif kind == "fact_name":
        request.fact = references.fact_name(value, who)
    elif kind == "excerpt":
        request.excerpt = references.excerpt_name(value, who)
    else:
        request.text = value


def replay(connection: Connection, who: Who, trace: str) -> None:
    """Make the prompt again; the exit code says whether it is the same in every byte."""
    with calling(connection) as client:
        name = references.trace_name(client, trace, who)
        answer = client.call(client.traces.ReplayTrace, ReplayTraceRequest(name=name))
    emit(connection, answer, replay_view(answer))
    if not answer.identical:
        raise typer.Exit(ExitCode.DIFFERENT)


def show(connection: Connection, who: Who, trace: str) -> None:
    """A trace whole."""
    with calling(connection) as client:
        name = references.trace_name(client, trace, who)
        answer = client.call(client.traces.GetTrace, GetTraceRequest(name=name))
    found = answer.trace
    emit(
        connection,
        answer,
        _head(found),
        budget_view(found.totals, found.candidates),
        candidates_table(found.candidates),
    )


def _head(trace: Trace) -> Text:
    session = trace.session
    lines = [
        f"trace     {trace.name}",
        f"turn      {visible(trace.turn_id)} of {visible(session.session_id)}, user {visible(session.user_id)}",
        f"now       {instant(trace.now)} ({trace.time_zone})",
        f"policy    {trace.policy_revision}",
        f"prompt    sha256 {trace.prompt_sha256}",
        f"chain     no. {trace.seal.sequence}, {trace.seal.record_hash}",
        f"stages    {', '.join(f'{t.stage} {t.duration.ToNanoseconds() / 1e6:.1f} ms' for t in trace.timings)}",
    ]
    return Text("\n".join(lines + [f"note      {visible(warning)}" for warning in trace.warnings]))


def list_traces(connection: Connection, who: Who, session: str, limit: int) -> None:
    """The newest traces."""
    request = ListTracesRequest(tenant_id=who.tenant, user_id=who.user, session_id=session, page_size=limit)
    with calling(connection) as client:
        answer = client.call(client.traces.ListTraces, request)
    emit(connection, answer, traces_table(answer.traces))


def appearances(connection: Connection, who: Who, item: str, limit: int) -> None:
    """The prompts of a user that an item is in. The server looks through a bounded number of traces at a time, so a
    page may come back short: all are asked for until there are enough."""
    user = UserRef(tenant_id=who.tenant, user_id=who.user)
    request = ListAppearancesRequest(user=user, item_id=references.item_id(item), page_size=limit)
    found = ListAppearancesResponse()
    with calling(connection) as client:
        while len(found.appearances) < limit:
            page = client.call(client.traces.ListAppearances, request)
            found.appearances.extend(page.appearances[: limit - len(found.appearances)])
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
    emit(connection, found, appearances_table(found.appearances))
