"""What a failed call tells people to do is what helps in that case."""

from __future__ import annotations

import pytest

from ferrule.cli.show.outcome import print_outcome
from ferrule.model.failure import Stop, tool_error
from ferrule.model.result import Result


@pytest.mark.parametrize(
    ("stop", "is_repeatable", "advice"),
    [
        (Stop("policy_blocked", "no"), True, "change the arguments, or ask for another policy"),
        (Stop("policy_blocked", "no", "upstream_changed"), True, "somebody has to look at the change"),
        (Stop("policy_blocked", "no", "address_forbidden"), True, "other arguments do not help"),
        (Stop("permission_denied", "no", "upstream_denied"), True, "whoever runs the system behind the tool"),
        (Stop("credential_missing", "no"), True, "'ferrule doctor' tells more"),
        (Stop("dependency_unavailable", "down"), True, "it can be tried again later"),
        (Stop("dependency_unavailable", "down"), False, "it may have acted; make sure before it is tried again"),
        (Stop("execution_failed", "no"), False, "trying again does not help"),
    ],
)
def test_advice_fits_the_failure(
    stop: Stop, is_repeatable: bool, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = tool_error(stop, has_run=True, is_repeatable=is_repeatable)
    result = Result(invocation_id="inv_1", status="failed", created_at=0, content=(), error=error)
    assert print_outcome(result, as_json=False) == 1
    assert advice in capsys.readouterr().err


def test_what_the_system_behind_a_tool_said_itself_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    error = tool_error(
        Stop("execution_failed", "the tool Mail.Read of 'far' failed"), has_run=True, is_repeatable=False
    )
    said = "the mailbox is locked\x1b[2J\nuntil noon"
    result = Result(
        invocation_id="inv_1", status="failed", created_at=0, content=({"type": "text", "text": said},), error=error
    )
    print_outcome(result, as_json=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "failed: the tool Mail.Read of 'far' failed"
    assert lines[1].startswith("  the mailbox is locked") and "\x1b" not in lines[1]
    assert lines[2] == "  until noon"


def test_what_was_told_already_is_not_told_twice(capsys: pytest.CaptureFixture[str]) -> None:
    error = tool_error(Stop("execution_failed", "it broke"), has_run=True, is_repeatable=False)
    block = {"type": "text", "text": "it broke"}
    print_outcome(
        Result(invocation_id="inv_1", status="failed", created_at=0, content=(block,), error=error), as_json=False
    )
    assert capsys.readouterr().err.count("it broke") == 1
