"""Addresses with places to fill in, read backwards."""

from __future__ import annotations

import pytest

from ferrule.runtime.functions.uri_template import InvalidTemplate, is_address, parse_uri_template


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("docs://{name}", "docs://a", {"name": "a"}),
        ("docs://{name}", "docs://a%20b%2Bc", {"name": "a b+c"}),
        ("docs://{name}", "docs://größe", {"name": "größe"}),
        ("docs://{name}", "docs://a/b", None),
        ("docs://{name}", "docs://a%2Fb", None),
        ("docs://{name}", "docs://..", None),
        ("docs://{name}", "docs://", None),
        ("docs://{name}", "docs://a?x=1", None),
        ("docs://{name}", "docs://a#b", None),
        ("docs://{name}", "docs://a b", None),
        ("docs://{+path}", "docs://a/b/c", {"path": "a/b/c"}),
        ("docs://{+path}", "docs://a/../c", None),
        ("docs://{+path}", "docs://a/..%2fc", None),
        ("docs://{+path}", "docs://a/..b/c..", {"path": "a/..b/c.."}),
        ("x:{a}/{b}.txt", "x:1/2.txt", {"a": "1", "b": "2"}),
        ("x:{a}{?q,r}", "x:1", {"a": "1"}),
        ("x:{a}{?q,r}", "x:1?r=2&q=a+b", {"a": "1", "q": "a b", "r": "2"}),
        ("x:{a}{?q,r}", "x:1?s=2", None),
        ("x:{a}{?q}", "x:1?q=1&q=2", None),
        ("x:(a){b}", "x:(a)1", {"b": "1"}),
        ("x:{a}", "x:%ff", None),
    ],
)
def test_an_address_gives_its_variables_or_none(template: str, uri: str, found: dict[str, str] | None) -> None:
    """MCP-201: `..`, encoded or not, and separators that were encoded are no way around a template."""
    assert parse_uri_template(template).match(uri) == found


@pytest.mark.parametrize(
    "template",
    ["{name}", "docs", "docs://{a}{a}", "docs://{a,b}", "docs://{/a}", "docs://{a", "x:{?a}/b", "x:{a*}", "x:{}"],
)
def test_what_cannot_be_read_backwards_is_refused(template: str) -> None:
    with pytest.raises(InvalidTemplate):
        parse_uri_template(template)


@pytest.mark.parametrize("uri", ["", "a", "a:", ":b", "a b:c", "a:b c", "1a:b", "a:b\n", "a:" + "x" * 5000])
def test_what_is_no_address(uri: str) -> None:
    assert not is_address(uri)
