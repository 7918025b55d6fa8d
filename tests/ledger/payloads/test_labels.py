"""Names, media types and ranges of payloads, whatever a tool or a caller wrote."""

from __future__ import annotations

import pytest

from ferrule.ledger.payloads.labels import (
    clean_file_name,
    clean_media_type,
    find_span,
    make_damaged_error,
    make_expired_error,
    make_unknown_error,
)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\evil.exe", "evil.exe"),
        ("a/..", ""),
        (".", ""),
        ("x\r\ny\u2028.txt", "xy.txt"),
        ("bad\ud800.txt", "bad.txt"),
        (" spaced ", "spaced"),
        ("folder/", ""),
    ],
)
def test_a_name_is_the_last_part_and_has_nothing_hidden_in_it(written: str, name: str) -> None:
    assert clean_file_name(written) == name


def test_a_long_name_is_cut_between_letters() -> None:
    cut = clean_file_name("ä" * 150)
    assert cut == "ä" * 100 and len(cut.encode()) == 200


@pytest.mark.parametrize("written", ["text/plain", "application/ld+json", "text/plain; charset=utf-8"])
def test_a_media_type_stays_as_it_is(written: str) -> None:
    assert clean_media_type(written) == written


@pytest.mark.parametrize(
    "written", ["", "text", "text/", "text/plain\r\nX: y", "text/plain;", "a b/c", "x/" + "y" * 101]
)
def test_what_is_no_media_type_is_unknown_bytes(written: str) -> None:
    assert clean_media_type(written) == "application/octet-stream"


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [
        (0, None, range(10)),
        (3, 4, range(3, 7)),
        (8, 9, range(8, 10)),
        (10, 1, range(10, 10)),
        (99, None, range(10, 10)),
        (0, 0, range(0)),
    ],
)
def test_a_range_never_goes_beyond_the_end(offset: int, limit: int | None, expected: range) -> None:
    assert find_span(10, offset, limit) == expected


def test_a_range_does_not_count_from_the_end() -> None:
    for offset, limit in ((-1, None), (0, -1)):
        with pytest.raises(ValueError, match="from 0 on"):
            find_span(10, offset, limit)


def test_what_is_gone_is_told_on_one_line_of_plain_letters() -> None:
    odd = "ferrule-payload:\nx\u202e" + "y" * 999
    for told, reason in (
        (make_unknown_error(odd), "unknown"),
        (make_expired_error(odd, 0), "expired"),
        (make_damaged_error(odd), "damaged"),
    ):
        assert told.reason == reason
        assert "\n" not in str(told) and str(told).isascii() and len(str(told)) < 400
    assert "1970-01-01" in str(make_expired_error("x", 0)) and "expired;" in str(make_expired_error("x", None))
