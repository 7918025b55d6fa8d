"""What a YAML value without quotes means."""

from __future__ import annotations

import pytest

from ferrule.model.value import JsonValue
from tests.definitions.compiler.reading import one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"), ("true", True), ("False", False), ("~", None), ("null", None),
        ("", None), ("010", 10), ("0o17", 15), ("0x1F", 31), ("12:30", "12:30"), ("2026-04-30", "2026-04-30"), ("1_000", "1_000"),
        ("1.2", 1.2), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("0b11", "0b11"), ("+1", 1), ("-0", 0), ("1.0.0", "1.0.0"),
        ('"true"', "true"), ("'1'", "1"), ("!!str 5", "5"), ("!!int '3'", 3), ("!!float 3", 3.0), ("!custom word", "word"),
        ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_plain_scalars_have_yaml_1_2_core_types(text: str, value: JsonValue) -> None:
    document = one("a.yaml", f"a: {text}\n")
    assert document.issues == ()
    assert repr(document.value) == repr({"a": value})
