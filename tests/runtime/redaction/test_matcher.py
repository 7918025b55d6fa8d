"""Texts inside JSON inside JSON: each level doubles the backslashes, and a secret is found all the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests.journeys.canaries import SPELLINGS, Canary, canaries, found_in

CANARIES = canaries(7)[:48]
KNOWN = KnownSecrets(
    RedactionSettings(secrets_env=tuple(canary.name for canary in CANARIES)),
    {canary.name: canary.value for canary in CANARIES},
)
LEVELS = 3


def nested(text: str, levels: int) -> str:
    for level in range(levels):
        text = json.dumps({"level": level, "text": text}, ensure_ascii=level % 2 == 0)
    return text


@pytest.mark.parametrize("levels", range(LEVELS + 1))
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_found_at_every_level(spelling: str, levels: int) -> None:
    """AT-84, AT-233"""
    for canary in CANARIES:
        text = nested(f"a: {SPELLINGS[spelling](canary.value)}, b", levels)
        clean, names = KNOWN.text(text)
        assert found_in(clean) is None, canary
        assert f"secret:{canary.name}" in names
        value, _ = KNOWN.value({"deep": [text]})
        assert found_in(json.dumps(value)) is None, canary


@settings(deadline=None)
@given(
    st.sampled_from(CANARIES),
    st.sampled_from(sorted(SPELLINGS)),
    st.integers(0, LEVELS),
    st.lists(st.integers(1, 40), max_size=30),
)
def test_and_in_streams_wherever_they_are_cut(canary: Canary, spelling: str, levels: int, cuts: list[int]) -> None:
    data = nested(f"a: {SPELLINGS[spelling](canary.value)}, b\\n", levels).encode("utf-8")
    stream, passed = KNOWN.stream(), b""
    for cut in (*cuts, *[1] * len(data)):
        passed += stream.feed(data[:cut])
        data = data[cut:]
    assert found_in(passed + stream.finish()) is None


def test_what_only_looks_like_an_escape_is_left_alone() -> None:
    for text in ("C:\\new\\table\\readme", '{"a": "\\\\n\\\\t\\u00e9"}', "\\\\server\\share", "a\\", "\\"):
        assert KNOWN.text(text) == (text, ())
