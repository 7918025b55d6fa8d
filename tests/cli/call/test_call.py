"""`ferrule call`: arguments in every form, exit codes, and what a person at a terminal is told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.longer import Terminal
from tests.cli.run import Ran, ferrule

MAIL = {"to": "ana@example.org", "subject": "Hello", "body": "Solved."}


def call(folder: Path, *words: str, stdin: str = "") -> Ran:
    return ferrule("call", *words, folder=folder, stdin=stdin)


def test_arguments_may_be_options_json_a_file_or_standard_input(workspace: Path) -> None:
    written = json.dumps({"email": "ana@example.org"})
    (workspace / "input.txt").write_text(written)
    for words, stdin in (
        (("--email", "ana@example.org"), ""),
        (("--email=ana@example.org",), ""),
        (("--input", written), ""),
        (("--input", "@input.txt"), ""),
        (("--input", "-"), written),
    ):
        ran = call(workspace, "find-customer", *words, stdin=stdin)
        assert (ran.code, json.loads(ran.out)["plan"]) == (0, "team"), ran.err


def test_arguments_that_cannot_be_meant_are_refused_before_a_call_is_made(workspace: Path) -> None:
    for words, told in (
        (("--emial", "x"), "did you mean 'email'?"),
        (("--idempotency-key", "x"), "did you mean the option --key?"),
        (("--input", "{"), "--input is not JSON"),
        (("--input", "{}", "--email", "x"), "not both"),
        (("--input", "@nowhere"), "cannot be read"),
        (("--input", ""), "nothing was given"),
        (("--email",), "--email has no value"),
        (("--email", "x", "--timeout", "-1"), "--timeout takes a number of seconds"),
        (("--email", "x", "--wait", "nan"), "--wait takes a number of seconds"),
    ):
        ran = call(workspace, "find-customer", *words)
        assert ran.code == 2, ran.out
        assert told in ran.err
    assert ferrule("log", folder=workspace).out == "no calls found\n"


PAINT = '''
from dataclasses import dataclass
import ferrule


@dataclass
class House:
    street: str
    rooms: int = 1


@ferrule.tool(read_only=True)
def paint(house: House, more: list[House] = []) -> list[str]:
    """Tell which houses are painted."""
    print("a word on the way")
    return [house.street, *(one.street for one in more)]
'''


def test_fields_behind_a_reference_are_json_too(workspace: Path) -> None:
    (workspace / "functions.py").write_text(PAINT)
    done = call(
        workspace, "paint", "--house", '{"street": "A"}', "--more", '{"street": "B"}', "--more", '{"street": "C"}'
    )
    assert json.loads(done.out) == ["A", "B", "C"], done.err
    assert done.err == "a word on the way\n", "what a tool prints is not its answer"
    failed = call(workspace, "paint", "--house", '{"street": "A", "rooms": "many", "zip": 3}')
    assert failed.err.startswith("failed: the arguments of 'paint' do not fit its schema:\n  - 'house"), failed.err
    assert "'house.zip' is not a field of this tool" in failed.err


def test_an_answer_moves_nothing_on_a_terminal_and_reaches_programs_as_it_is(workspace: Path) -> None:
    text = "\x1b[2J\x1b]0;title\x07a\tb\nc"
    odd = f'import ferrule\n@ferrule.tool(read_only=True)\ndef odd() -> str:\n    "Odd."\n    return {text!r}\n'
    (workspace / "functions.py").write_text(odd)
    assert call(workspace, "odd").out == text + "\n"
    terminal = Terminal("call", "odd", folder=workspace)
    assert terminal.ended() == 0
    assert terminal.raw.decode() == "␛[2J␛]0;title␇a\tb\r\nc\r\n"


def test_what_a_tool_gave_is_shown_though_a_hook_after_it_failed(workspace: Path) -> None:
    with (workspace / "ferrule.toml").open("a") as file:
        file.write('\n[[hooks]]\nid = "after"\nevent = "post_tool_use"\nkind = "command"\ncommand = ["false"]\n')
    done = call(workspace, "find-customer", "--email", "ana@example.org")
    assert (done.code, json.loads(done.out)["plan"]) == (1, "team")
    assert done.err.startswith("partial_succeeded: the tool did its work, but the hook 'after' after it failed")


def test_json_stays_json_whatever_number_a_tool_answers_with(workspace: Path) -> None:
    odd = 'import ferrule\n@ferrule.tool(read_only=True)\ndef odd() -> list[float]:\n    "Odd."\n    return [float("nan")]\n'
    (workspace / "functions.py").write_text(odd)
    told = [call(workspace, "odd", "--json").out, ferrule("explain", "last", "--json", folder=workspace).out]
    assert all(json.loads(text) and "NaN" not in text for text in told), told


def test_a_terminal_without_a_letter_gets_its_number(workspace: Path) -> None:
    call(workspace, "find-customer", "--email", "ana@example.org")
    told = ferrule("explain", "last", folder=workspace, environment={"PYTHONIOENCODING": "ascii"})
    assert (told.code, told.err) == (0, "")
    assert "\\u2026" in told.out


def test_input_that_is_nested_too_deep_is_refused_like_any_other(workspace: Path) -> None:
    ran = call(workspace, "find-customer", "--input", "-", stdin='{"email":' + "[" * 50_000 + "]" * 50_000 + "}")
    assert (ran.code, "nested more than 100 levels deep" in ran.err) == (1, True), ran.err


def test_exit_codes_tell_success_error_and_waiting_apart(workspace: Path) -> None:
    assert call(workspace, "find-customer", "--email", "ana@example.org").code == 0
    failed = call(workspace, "find-customer", "--email", "nobody@example.org")
    assert failed.code == 1
    assert failed.err.startswith("failed: no customer has the address nobody@example.org\n  execution_failed: ")
    waiting = call(workspace, "send-reply", "--input", json.dumps(MAIL))
    assert waiting.code == 3
    assert waiting.out == ""
    assert waiting.err.startswith("waiting: rule 'mails-are-read-first'")
    assert "ferrule approve inv_" in waiting.err
    assert call(workspace, "send-reply", "--input", json.dumps(MAIL), "--non-interactive").code == 1


def test_json_is_the_whole_record(workspace: Path) -> None:
    done = json.loads(call(workspace, "find-customer", "--email", "ana@example.org", "--json").out)
    assert (done["status"], done["structured_content"]["name"]) == ("succeeded", "Ana Ferreira")
    failed = json.loads(call(workspace, "find-customer", "--email", "x", "--json").out)
    assert failed["error"]["error_class"] == "execution_failed"
    waiting = json.loads(call(workspace, "send-reply", "--input", json.dumps(MAIL), "--json").out)
    assert waiting["is_pending"]
    assert waiting["expires_at"].endswith("Z")


def test_a_mistyped_tool_is_recorded_and_the_nearest_named(workspace: Path) -> None:
    ran = call(workspace, "find-custmer")
    assert ran.code == 1
    assert "did you mean 'find-customer'?" in ran.err
    assert "tool_not_found" in ferrule("log", folder=workspace).out


def test_a_key_makes_a_call_once(workspace: Path) -> None:
    first = json.loads(call(workspace, "send-reply", "--input", json.dumps(MAIL), "--key", "k", "--json").out)
    again = json.loads(call(workspace, "send-reply", "--input", json.dumps(MAIL), "--key", "k", "--json").out)
    assert again["invocation_id"] == first["invocation_id"]
    other = call(workspace, "send-reply", "--input", json.dumps(MAIL | {"body": "No."}), "--key", "k")
    assert other.code == 1
    assert "idempotency_conflict" in other.err


def test_an_agent_limits_what_can_be_called(workspace: Path) -> None:
    ran = call(workspace, "working_hours", "--country", "PT", "--agent", "support")
    assert ran.code == 1, "it is a tool of the workspace, not of this agent"
    assert call(workspace, "find-customer", "--agent", "suport").code == 2


def test_changed_definitions_count_once_they_are_built(workspace: Path) -> None:
    words = ("find-customer", "--email", "ana@example.org")
    assert call(workspace, *words).err == ""
    tool = workspace / "tools" / "find-customer.tool.md"
    tool.write_text(tool.read_text().replace('version: "1.0.0"', 'version: "1.0.1"'))
    assert "note: definitions changed since the catalog was built" in call(workspace, *words).err
    assert call(workspace, *words, "--build").err == ""
    assert "find-customer@1.0.1" in ferrule("explain", "last", folder=workspace).out
