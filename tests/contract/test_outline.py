"""The contract has what this release does, and nothing else: no method that would answer "unimplemented"."""

METHODS = {
    "ContextService": {"AssembleContext", "ExplainContext", "CountTokens", "ReportUsage"},
    "SessionService": {"RecordTurns", "GetSession", "UpdateSlots", "EndSession"},
    "FactService": {"RecordFacts", "GetFact", "ListFacts", "InvalidateFacts", "DeleteFact"},
    "HistoryService": {"ImportHistory", "SearchHistory"},
    "PolicyService": {
        "RegisterPolicyRevision",
        "ValidatePolicy",
        "GetPolicy",
        "ListPolicies",
        "ListPolicyRevisions",
        "ActivatePolicyRevision",
        "RollbackPolicy",
    },
    "PrefixService": {"RegisterPrefixRevision", "GetPrefixRevision", "ListPrefixRevisions"},
    "TraceService": {
        "GetTrace",
        "ListTraces",
        "ExplainItem",
        "ExplainAbsence",
        "ListAppearances",
        "ReplayTrace",
    },
}


def test_the_methods_are_those_of_this_release(contract):
    found: dict[str, set[str]] = {}
    for name in contract.methods:
        service, method = name.split(".")
        found.setdefault(service, set()).add(method)
    assert found == METHODS


def test_no_message_is_left_over(contract):
    """Every message is reachable from a method, or is the detail of an error."""
    used = {"BudgetNeeds", "PolicyDiagnostics"}
    pending = list(used)
    for method in contract.methods.values():
        pending += [
            method.input_type.removeprefix(".muniment.v1."),
            method.output_type.removeprefix(".muniment.v1."),
        ]
    seen = set()
    while pending:
        name = pending.pop()
        if name in seen or name not in contract.messages:
            continue
        seen.add(name)
        pending += [
            f.type_name.removeprefix(".muniment.v1.") for f in contract.messages[name].field if f.type_name
        ]
    assert set(contract.messages) - seen == set()
