"""The phases of a call in a few words, and the facts that are shown when one is opened."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.servers.console.calls.phases import describe_phase, list_details
from tests.servers.console.calls.story_samples import story

ALLOWED = {"behavior": "allow", "rule_refs": ["small"], "reason": {"type": "rule", "message": "fine"}}
DENIED = {"behavior": "deny", "rule_refs": [], "reason": {"type": "mode", "message": "not here"}}


def failed(message: str, **more: Any) -> dict[str, Any]:
    error = {"error_class": "rate_limited", "error_code": "http_429", "message": message}
    return story(status="failed", result={"error": error}, **more)


@pytest.mark.parametrize(
    ("phase", "more", "words"),
    [
        ("resolve_tool", {"tool_version": "1.2.0"}, "version 1.2.0, for ada"),
        ("resolve_tool", {"tool_id": "unknown:x"}, "unknown tool for this caller"),
        ("parse_schema", {}, "valid"),
        ("pre_hooks", {}, "no hook"),
        ("permission", {"decisions": [ALLOWED]}, "allowed by small"),
        ("permission", {"decisions": [DENIED]}, "not here"),
        ("permission", {"decisions": [ALLOWED], "answers": [{"by": "amy"}]}, "asked; amy approved it"),
        ("schedule", {"scheduler": {"resource_locks": [{"key": "order:1", "mode": "shared"}]}}, "lock order:1"),
        ("execute", {"attempts": [{}]}, "2 attempts"),
        ("execute", {"cache": {"hit": True}}, "cached result of an earlier call"),
        ("map_result", {"result": {"structured_content": {"a": 1, "b": 2}}}, "2 fields"),
        ("emit_terminal", {"status": "timed_out"}, "timed out"),
    ],
)
def test_a_phase_says_what_it_found(phase: str, more: dict[str, Any], words: str) -> None:
    assert describe_phase(phase, story(**more)) == words


def test_a_phase_that_did_not_run_says_nothing() -> None:
    phases = [{"phase": "resolve_tool", "ran": False, "ended_after_ms": None, "duration_ms": None}]
    assert describe_phase("resolve_tool", story(phases=phases)) == ""


def test_a_very_long_message_is_cut() -> None:
    text = describe_phase("execute", failed("x" * 500))
    assert len(text) == 160 and text.endswith("…")


def test_the_phase_in_which_a_call_ended_says_with_what_and_no_other_does() -> None:
    here = failed("slow down")
    assert list_details("map_result", here, has_stopped=False) == []
    (ended,) = list_details("map_result", here, has_stopped=True)
    assert (ended["name"], ended["text"]) == ("Ended with", "rate limited (http_429): slow down")


def test_a_batch_and_what_a_call_waited_for_lead_to_their_pages() -> None:
    batch = {"batch_id": "bat_1", "index": 1, "size": 3, "depends_on": ["inv_0"]}
    first, second = list_details("schedule", story(batch=batch), has_stopped=False)
    assert (first["text"], first["link"]) == ("number 2 of 3", "/console/batches/bat_1")
    assert (second["text"], second["link"]) == ("inv_0", "/console/invocations/inv_0")


def test_of_much_progress_the_last_is_shown() -> None:
    progress = [{"status": "running", "message": f"step {number}", "percent": number} for number in range(9)]
    texts = [one["text"] for one in list_details("execute", story(progress=progress), has_stopped=False)]
    assert texts == [f"step {number}, {number} %" for number in range(4, 9)]
