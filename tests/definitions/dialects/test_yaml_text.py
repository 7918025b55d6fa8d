"""JSON values as YAML that every version of YAML reads alike."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.compiler.compose import compose_all
from ferrule.definitions.dialects.yaml_text import yaml_text

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["yes", "~", "1e3", "012", "- a", "a: b", "#", "", "\u2028", "\x7f", "k" * 200]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4).filter(bool))
def test_both_readers_get_back_what_was_written(value: dict[str, Any]) -> None:
    text = yaml_text(value)
    assert compose_all(text)[0].value == value
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"name": "x", "no": 1, "a b": True}, 'name: "x"\n"no": 1\n"a b": true\n'),
        ({"a": {"b": [1, {"c": None, "d": 2}]}}, "a:\n  b:\n    - 1\n    - c: null\n      d: 2\n"),
        ({"a": [[1, 2], [], {}]}, "a:\n  - - 1\n    - 2\n  - []\n  - {}\n"),
        ({"a": 1e30, "b": 1.5e-7}, "a: 1.0e+30\nb: 1.5e-07\n"),
        ({"k" * 161: 1}, f'? "{"k" * 161}"\n: 1\n'),
        ({"a": "\u2028\x7f"}, 'a: "\\u2028\\u007f"\n'),
    ],
)
def test_a_value_is_laid_out_so(value: dict[str, Any], text: str) -> None:
    assert yaml_text(value) == text
