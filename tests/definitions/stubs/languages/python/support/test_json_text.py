"""JSON is read strictly and written compactly."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError, parsed, written


@pytest.mark.parametrize(
    "data",
    [b"", b"NaN", b"[Infinity]", b"-Infinity", b"1e999", b"\xff", b"{", b'"\n"', b"\xef\xbb\xbf1", b"[" * 99_999],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parsed(data)


def test_json_is_read_and_written_exactly() -> None:
    value = {"big": 10**40, "small": -0.25, "text": "é \ud800 \x00", "twice": 2}
    assert parsed(written(value)) == value
    assert parsed('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(float("nan"))
