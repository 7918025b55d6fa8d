"""What models answer to an offer comes back as the tool takes it (AT-261)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.functions import FunctionList
from ferrule.model.tool import raw
from ferrule.schema.fitting import encode
from tests.definitions.formats.shop import tool

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "maybe": {"type": ["integer", "null"]},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        "x y": {"type": "boolean"},
    },
    "required": ["a"],
}


@pytest.mark.parametrize("name", [name for name in FORMATS.names() if isinstance(FORMATS.get(name), FunctionList)])
@given(
    st.fixed_dictionaries(
        {"a": st.text(max_size=5)},
        optional={
            "maybe": st.integers(-5, 5),  # where null may be left out, too, a strict model cannot tell them apart
            "map": st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
            "either": st.text(max_size=3) | st.lists(st.integers(0, 9), max_size=2),
            "x y": st.booleans(),
        },
    ),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_arguments_come_back_as_the_tool_takes_them(name: str, arguments: dict[str, Any], is_strict: bool) -> None:
    form = FORMATS.get(name)
    assert isinstance(form, FunctionList)
    listed = [tool(input_schema=raw(SCHEMA))]
    options = WriteOptions(is_strict=is_strict)
    for offered in form.offer(listed, options).tools:
        assert offered.fitted is not None
        sent = encode(offered.fitted.steps, arguments)
        assert offered.decode_arguments(sent) == arguments
