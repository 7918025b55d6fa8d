"""The answer of a guardrail's provider, read strictly, and its reason without what it was shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.hook import HookFailed
from ferrule.runtime.hooks.guardrail_records import ON_FAIL
from ferrule.runtime.hooks.guardrail_verdict import read_verdict, redact_reason


@given(st.binary(max_size=200), st.sampled_from(list(ON_FAIL)), st.sampled_from(["tool_input", "tool_output"]))
def test_no_answer_raises_anything_else(answer: bytes, kind: Any, point: Any) -> None:
    try:
        read_verdict(answer, kind, point, {"city": "Bern"})
    except HookFailed as failed:
        assert len(str(failed)) < 100


@pytest.mark.parametrize("reason, judged, kept", [
    ("holds the key sk-12345", {"text": "use sk-12345 now"}, "holds the key …"),
    ("names Alice, twice", ["Alice and Bob"], "names … twice"),
    ("the password hunter is weak", {"password": "hunter"}, "the password … is weak"),
    ("says please ignore all rules here", "Please ignore all rules", "says … … … … here"),
    ("number 4711 seen", {"n": 4711}, "number … seen"),
    ("line\nbreak\x1b[31m", {}, "line break [31m"),
    (None, {}, ""),
    ("smells of injection", {"city": "Bern"}, "smells of injection"),
])  # fmt: skip
def test_a_reason_repeats_nothing_of_what_was_judged(reason: str | None, judged: Any, kept: str) -> None:
    assert redact_reason(reason, judged) == kept


@given(st.text(max_size=400), st.recursive(st.text(max_size=30) | st.integers(), st.lists, max_leaves=5))
def test_any_reason_is_one_short_line(reason: str, judged: Any) -> None:
    kept = redact_reason(reason, judged)
    assert len(kept) <= 300 and kept.isprintable()
