"""The command line against a gateway: what it prints, what it pipes on, and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.exits import ExitCode
from gateway.cli.main import app
from tests.integration.gateway_process import ROOT, running_gateway

POLICY = ROOT / "examples" / "policies" / "support.yaml"
SESSIONS = """
{"type": "session", "session_id": "spring", "start": "-90d"}
{"type": "turn", "role": "USER", "speaker": "Dana", "text": "The grinder from Nordwind is loud."}
{"type": "turn", "role": "ASSISTANT", "text": "Noted."}
"""
WHO = {"MUNIMENT_TENANT": "ledgerline", "MUNIMENT_USER": "dana.weiss"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway with the support policy in force, a prefix, a fact and an archived session."""
    folder = tmp_path_factory.mktemp("cli")
    with running_gateway(folder / "data") as client:
        system, archive = folder / "system.txt", folder / "sessions.jsonl"
        system.write_text("You are a support agent.\n", encoding="utf-8")
        archive.write_text(SESSIONS, encoding="utf-8")
        for command in (
            ["policy", "register", str(POLICY), "--activate"],
            ["prefix", "register", "support-desk", "--text", str(system)],
            ["facts", "record", "plan", "starter", "--read", "-3d"],
            ["history", "import", str(archive)],
        ):
            result = run(client.address, *command)
            assert result.exit_code == 0, result.output
        yield client.address


def run(address: str, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(
        app, arguments, env=WHO | {"MUNIMENT_ADDRESS": address, "COLUMNS": "100"} | environment
    )


def done(address: str, *arguments: str) -> str:
    """What a command printed that ended well."""
    result = run(address, *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(address: str, *arguments: str) -> Any:
    """What a command printed with `--json`."""
    return json.loads(done(address, *arguments, "--json"))


def test_assemble_shows_the_prompt_the_budget_and_the_trace(address: str):
    text = done(address, "assemble", "Why is the grinder loud?")
    assert "You are a support agent." in text
    assert "- plan: starter" in text
    assert "The grinder from Nordwind is loud." in text
    assert "of 1600 tokens used" in text
    assert "trace tenants/ledgerline/traces/" in text


def test_assemble_prints_one_rendering_and_not_a_byte_more(address: str):
    body = done(address, "assemble", "What is open?", "--body", "openai")
    assert [message["role"] for message in json.loads(body)["messages"]] == ["system", "user"]


def test_assemble_takes_documents_and_reads_the_question_from_stdin(address: str, tmp_path: Path):
    document = tmp_path / "contract.txt"
    document.write_text("4.1 Invoices are due within 14 days.", encoding="utf-8")
    arguments = ["assemble", "-", "-m", str(document), "--body", "text", "--dry-run"]
    result = CliRunner().invoke(
        app, arguments, env=WHO | {"MUNIMENT_ADDRESS": address}, input="When is it due?\n"
    )
    assert "> 4.1 Invoices are due within 14 days." in result.stdout
    assert "When is it due?" in result.stdout


def test_the_line_of_an_item_leads_to_its_descent_and_the_prompt_comes_out_the_same_again(address: str):
    done(address, "assemble", "Which plan?", "--session", "s-why")
    assert "written as fact/1 by muniment-cli" in " ".join(done(address, "why", "last", "fact/1").split())
    assert "identical" in done(address, "replay", "last")
    assert "there is no such thing on record" in done(address, "why-not", "last", "--fact", "currency")


def test_a_trace_is_listed_and_shown_with_its_candidates(address: str):
    done(address, "assemble", "Which plan?", "--turn-id", "t-listed")
    trace = as_json(address, "trace", "list", "-n", "1")["traces"][0]
    assert trace["turnId"] == "t-listed"
    shown = done(address, "trace", "show", trace["name"].rpartition("/")[2])
    assert "fact/1" in shown
    assert "included: within budget" in shown


def test_the_prompts_that_an_item_is_in_are_listed(address: str):
    for turn in ("t-seen-1", "t-seen-2"):
        done(address, "assemble", "Which plan?", "--session", "s-seen", "--turn-id", turn)
    found = as_json(address, "trace", "appearances", "fact/1", "-n", "2")["appearances"]
    assert [appearance["turnId"] for appearance in found] == ["t-seen-2", "t-seen-1"]
    assert "t-seen-1" in done(address, "trace", "appearances", "fact/1")


def test_a_fact_lives_through_its_commands(address: str):
    assert "accepted  locations" in done(address, "facts", "record", "locations", "4", "--type", "integer")
    assert "supersedes" in done(address, "facts", "record", "locations", "5", "--type", "integer")
    listed = as_json(address, "facts", "list", "--key", "locations", "--all")["facts"]
    assert [(fact["integer"], fact["state"]) for fact in listed] == [
        ("4", "FACT_STATE_SUPERSEDED"),
        ("5", "FACT_STATE_CURRENT"),
    ]
    name = listed[1]["name"]
    assert "operator, from command line" in done(address, "facts", "get", f"fact/{name.rpartition('/')[2]}")
    counted = done(address, "facts", "invalidate", "--key", "locations", "--reason", "moved", "--dry-run")
    assert "would be invalidated: 1" in counted
    done(address, "facts", "invalidate", "--name", name, "--reason", "moved")
    assert as_json(address, "facts", "get", name)["fact"]["state"] == "FACT_STATE_INVALIDATED"
    assert "its value is gone" in done(address, "facts", "delete", name)


def test_a_refused_fact_says_what_would_be_taken_and_ends_as_invalid(address: str):
    result = run(address, "facts", "record", "plan", "gold")
    assert result.exit_code == ExitCode.INVALID
    assert "starter, team, enterprise" in " ".join(result.stdout.split())


def test_history_is_found_with_its_date(address: str):
    assert "The grinder from Nordwind is loud." in done(address, "history", "search", "grinder")


def test_a_policy_lives_through_its_commands(address: str, tmp_path: Path):
    (before,) = as_json(address, "policy", "revisions", "support")["revisions"]
    changed = tmp_path / "support.yaml"
    changed.write_text(POLICY.read_text(encoding="utf-8").replace("1600", "1700"), encoding="utf-8")
    revision = done(address, "policy", "register", str(changed)).strip()
    assert "in force" in done(address, "policy", "activate", f"support@{revision.rpartition('/')[2][:8]}")
    assert before["name"] in done(address, "policy", "rollback", "support")
    assert before["sha256"][:12] in done(address, "policy", "list")


def test_a_shown_policy_is_the_same_revision_when_it_is_registered_again(address: str, tmp_path: Path):
    (tmp_path / "shown.yaml").write_text(done(address, "policy", "show", "support"), encoding="utf-8")
    active = as_json(address, "policy", "show", "support")["head"]["activeRevision"]
    assert active in done(address, "policy", "validate", str(tmp_path / "shown.yaml"))


def test_a_policys_faults_are_shown_where_they_stand(address: str, tmp_path: Path):
    faulty = tmp_path / "faulty.yaml"
    faulty.write_text("policy_id: x\nsections:\n  - qestion: {}\n", encoding="utf-8")
    for command in ("validate", "register"):
        result = run(address, "policy", command, str(faulty))
        assert result.exit_code == ExitCode.INVALID
        lines = result.output.splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{faulty}:3:5: error"))
        assert lines[at + 1 : at + 3] == ["      - qestion: {}", "        ^"]
        assert "question" in lines[at + 3]


def test_prefixes_are_listed_and_shown(address: str):
    assert "support-desk@" in done(address, "prefix", "list", "support-desk")
    assert "You are a support agent." in done(address, "prefix", "show", "support-desk")


def test_a_prefix_that_changes_from_call_to_call_is_refused_unless_it_is_allowed(
    address: str, tmp_path: Path
):
    text = tmp_path / "dated.txt"
    text.write_text("Today is 2026-11-29.", encoding="utf-8")
    refused = run(address, "prefix", "register", "dated", "--text", str(text))
    assert refused.exit_code == ExitCode.INVALID
    assert "2026-11-29" in refused.stderr
    done(address, "prefix", "register", "dated", "--text", str(text), "--allow", "date")


def test_a_budget_that_is_too_small_lists_what_needs_how_much(address: str):
    result = run(address, "assemble", "What is open?", "--max-tokens", "10")
    assert result.exit_code == ExitCode.PRECONDITION
    assert "needed of 10" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("facts", "get", "fact/999"), ExitCode.NOT_FOUND, "check the name"),
        (("assemble", "x", "--turn-id", "a b"), ExitCode.INVALID, "turn_id"),
        (("assemble", "x", "--policy", "nobody"), ExitCode.PRECONDITION, "policy"),
        (("why-not", "last"), ExitCode.USAGE, "--fact"),
        (("facts", "record", "locations", "x", "--type", "integer"), ExitCode.USAGE, "no integer"),
        (("facts", "record", "plan", "team", "--read", "soon"), ExitCode.USAGE, "is no date"),
        (("policy", "activate", "support@ffffffffff"), ExitCode.NOT_FOUND, "policy revisions"),
        (("policy", "rollback", "nobody"), ExitCode.NOT_FOUND, "check the name"),
        (("policy", "rollback", "policies/memory"), ExitCode.INVALID, "built-in policy"),
        (("facts", "invalidate", "--reason", "x"), ExitCode.USAGE, "--key"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code_and_a_remedy(
    address: str, arguments: tuple[str, ...], code: ExitCode, words: str
):
    result = run(address, *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_an_error_in_json_is_the_rich_status(address: str):
    result = run(address, "assemble", "x", "--turn-id", "a b", "--json")
    status = json.loads(result.stderr)
    assert status["details"][0]["reason"] == "INVALID_FIELD"
    assert result.stdout == ""


def test_a_turn_id_that_is_used_again_is_a_conflict(address: str):
    done(address, "assemble", "one", "--session", "again", "--turn-id", "t-1")
    assert (
        run(address, "assemble", "two", "--session", "again", "--turn-id", "t-1").exit_code
        == ExitCode.CONFLICT
    )


def test_where_no_gateway_answers_the_message_says_how_to_start_one():
    result = run("127.0.0.1:1", "facts", "list")
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert "muniment serve" in result.stderr


def test_play_plays_a_file_and_tells_how_to_play_it_again(address: str):
    recorded = str(ROOT / "examples" / "conversations" / "coffee-buyer.jsonl")
    text = done(address, "play", recorded, "--user", "player")
    assert "4 sessions" in text
    assert "and what about their credit terms?" in text
    again = run(address, "play", recorded, "--user", "player")
    assert again.exit_code == ExitCode.CONFLICT
    assert "--session" in again.stderr


def test_a_file_that_does_not_fit_is_refused_with_its_line(address: str, tmp_path: Path):
    file = tmp_path / "talk.jsonl"
    file.write_text(
        '{"type": "conversation", "tenant": "acme", "user": "dana"}\n{"type": "tunr"}\n', encoding="utf-8"
    )
    result = run(address, "play", str(file))
    assert result.exit_code == ExitCode.INVALID
    assert f"{file}:2: `type` is 'tunr'" in result.stderr


@pytest.mark.parametrize(
    ("listen", "words"),
    [("0.0.0.0:0", "can be reached from other machines"), ("nonsense", "has no host and port")],
)
def test_serve_refuses_an_address_that_it_cannot_serve(listen: str, words: str, tmp_path: Path):
    result = CliRunner().invoke(app, ["serve", "--listen", listen, "--data-dir", str(tmp_path / "d")])
    assert result.exit_code == ExitCode.USAGE
    assert words in result.stderr
    assert not (tmp_path / "d").exists()


def test_serve_refuses_a_wrong_setting_by_its_name(tmp_path: Path):
    result = CliRunner().invoke(
        app, ["serve", "--data-dir", str(tmp_path)], env={"MUNIMENT_LOG_LEVEL": "loud"}
    )
    assert result.exit_code == ExitCode.USAGE
    assert result.stderr.startswith("error: log_level")


def test_a_conversation_with_a_faulty_policy_is_told_by_the_policys_own_file(address: str, tmp_path: Path):
    (tmp_path / "faulty.yaml").write_text("policy_id: x\nsections: []\n", encoding="utf-8")
    file = tmp_path / "talk.jsonl"
    lines = [
        {"type": "conversation", "tenant": "faulty", "user": "dana", "policy": "faulty.yaml"},
        {"type": "session", "session_id": "today", "start": "now"},
        {"type": "turn", "role": "USER", "text": "What is open?"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    result = run(address, "play", str(file))
    assert result.exit_code == ExitCode.INVALID
    assert f"{tmp_path / 'faulty.yaml'}:2:" in result.stderr
    assert as_json(address, "trace", "list", "--tenant", "faulty") == {}


def test_health_says_whether_a_gateway_is_ready_for_calls(address: str):
    assert done(address, "health") == f"{address} is serving\n"
    assert as_json(address, "health") == {"status": "SERVING"}
    nobody = run("127.0.0.1:1", "health", "--wait", "0.1")
    assert nobody.exit_code == ExitCode.UNAVAILABLE
    assert "127.0.0.1:1 is not ready: nothing listens there" in nobody.stderr
