"""JSON texts: their values, their places, and what is said about text that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.compiler.json_text import load
from ferrule.definitions.compiler.scalars import Unparsable
from ferrule.model.document import Issue


@pytest.mark.parametrize(
    ("text", "comma", "kind", "message"),
    [
        ('{"a": [1,\n\t]}', 8, "array", "Expecting value"),
        ('{"a": 1 ,\n }', 8, "object", "Expecting property name enclosed in double quotes"),
    ],
)
def test_a_trailing_comma_is_told_alike_by_every_interpreter(
    text: str, comma: int, kind: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unparsable) as here:
        load(text)

    def loads_of_newer_python(given: str, **_: Any) -> Any:
        raise json.JSONDecodeError(f"Illegal trailing comma before end of {kind}", given, comma)

    monkeypatch.setattr(json, "loads", loads_of_newer_python)
    with pytest.raises(Unparsable) as there:
        load(text)
    assert here.value.issue == there.value.issue
    assert here.value.issue == Issue("syntax", f"not valid JSON: {message}", 2, 2, hint="remove the comma before it")
