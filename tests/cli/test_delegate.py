"""`ferrule pending`, `delegate` and `answer` on a task that a human tool left in the inbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ran, ferrule
from tests.runtime.executors.human.human_tool import definition


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A workspace with one task for ann, which could be told to nobody."""
    more = "  x-assignees: [ann, 'group:night']\n  x-message: 'Is {claim} true?'"
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/review-claim.tool.md").write_text(definition("http://127.0.0.1:1", more), encoding="utf-8")
    settings = 'namespace = "w"\n[network]\nallow = ["127.0.0.1"]\n[policy]\nmode = "trusted"\n'
    (tmp_path / "ferrule.toml").write_text(settings, encoding="utf-8")
    called = ferrule("call", "review-claim", "--claim", "c-1", folder=tmp_path)
    assert "Is c-1 true?" in called.err + called.out
    return tmp_path


def as_person(desk: Path, name: str) -> dict[str, str]:
    made = ferrule("token", "add", name, "--scope", "approve", folder=desk)
    assert made.code == 0, made
    return {"FERRULE_TOKEN": made.out.strip().splitlines()[-1]}


def listed(desk: Path, who: dict[str, str]) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads(ferrule("pending", "--json", folder=desk, environment=who).out)
    return found[0]


def test_a_task_is_shown_handed_on_answered_and_explained(desk: Path) -> None:
    ann, ben = as_person(desk, "ann"), as_person(desk, "ben")
    task = listed(desk, ann)
    call = task["invocation_id"]
    assert (task["input"], task["assignees"], task["why_not"]) == ({"claim": "c-1"}, ["ann", "group:night"], None)
    refused = ferrule("answer", call, '{"verdict": "pay"}', folder=desk, environment=ben)
    assert refused.code == 2 and "is for ann, group night, not for ben" in refused.err
    handed = _run(desk, ann, "delegate", call[:12], "ben", "--reason", "he was there", "--json")
    assert json.loads(handed.out) | {"at": ""} == {
        "invocation_id": call, "by": "ann", "to": "ben", "at": "", "reason": "he was there",
    }  # fmt: skip
    page = _run(desk, ben, "pending").out
    assert "handed on to ben by ann: he was there" in page
    assert "Is c-1 true?" in page and '"claim": "c-1"' in page
    wrong = ferrule("answer", call, '{"verdict": "maybe"}', folder=desk, environment=ben)
    assert wrong.code == 2 and "not what the tool asked for" in wrong.err
    assert "ended as succeeded" in _run(desk, ben, "answer", call, '{"verdict": "pay"}').out
    story = ferrule("explain", call, folder=desk).out
    assert "handed on" in story and "by ann to ben: he was there" in story
    assert ferrule("audit", "verify", folder=desk).code == 0
    again = ferrule("answer", call[:12], '{"verdict": "pay"}', folder=desk, environment=ben)
    assert again.code == 2 and f"no call {call[:12]} that waits" in again.err
    assert "nothing waits" in ferrule("pending", folder=desk).out


def _run(desk: Path, who: dict[str, str], *arguments: str) -> Ran:
    ran = ferrule(*arguments, folder=desk, environment=who)
    assert ran.code == 0, ran
    return ran
