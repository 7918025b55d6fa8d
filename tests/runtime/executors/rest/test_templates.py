"""Paths with places for arguments: an argument stays within its segment, and a place without one is left out."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.rest.templates import (
    PathTemplate,
    Template,
    is_given,
    literal_path,
    literal_query,
    template_of,
)
from tests.runtime.executors.rest.server import Server, json_answer
from tests.runtime.executors.rest.tools import ANY, told

OK = json_answer({"ok": True})


def test_a_place_of_the_query_whose_argument_was_not_given_is_left_out() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({})
        assert server.seen[0].target == "/x?v=1"
        await call({"q": ["a", "b"]})
        assert server.seen[1].target == "/x?v=1&q=a&q=b"

    told(story, OK, "GET /x?v=1&q={q}", takes={"q": ANY})


def test_a_list_in_the_path_is_one_segment() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"ids": [1, "a/b", "c,d"]})
        assert server.seen[0].target == "/x/1,a%2Fb,c%2Cd"

    told(story, OK, "GET /x/{ids}", takes={"ids": ANY})


@pytest.mark.parametrize("value", [None, "", [], {}, ["a", ""], {"a": 1}])
def test_what_cannot_be_a_segment_is_refused_before_anybody_is_asked(value: Any) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"id": value})
        assert result.error.error_class == "invalid_arguments"
        assert "'id'" in result.error.message
        assert server.seen == []

    told(story, OK, "GET /x/{id}", takes={"id": ANY})


@pytest.mark.parametrize(("first", "second"), [(".", "."), ("", "x"), ("%2e", ".")])
def test_two_arguments_cannot_make_dots_together(first: str, second: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": first, "b": second})
        if first == "%2e":  # text, not a dot: it is encoded
            assert server.seen[0].segments == ["x", "%2e."]
        else:
            assert result.error.error_class == "invalid_arguments"
            assert server.seen == []

    told(story, OK, "GET /x/{a}{b}", takes={"a": ANY, "b": ANY})


def test_a_text_is_taken_apart_at_its_places() -> None:
    assert template_of("tenant-{name}/{id}") == Template(("tenant-", "/", ""), ("name", "id"))
    assert template_of("plain") == Template(("plain",), ())
    assert [template_of(text).is_bare for text in ("{id}", "{id}!", "{a}{b}", "id")] == [True, False, False, False]


def test_a_text_is_filled_only_when_every_argument_is_there() -> None:
    template = template_of("{a}-{b}")
    assert is_given(template, {"a": 0, "b": ""})
    assert not is_given(template, {"a": 1, "b": None})


def test_what_an_author_wrote_is_encoded_once() -> None:
    """Their own percent signs stay; a space or a letter of another script cannot."""
    assert literal_path("a b/%2F/é?") == "a%20b/%2F/%C3%A9%3F"
    assert literal_query("a b&c=%20") == "a%20b%26c%3D%20"


def test_another_argument_may_fill_a_place() -> None:
    path = PathTemplate("/orders/{id}/lines/v-{n}", {"id": "order"})
    assert path.names == ("order", "n")
    assert path.fill({"order": "a/b", "n": 3}) == "/orders/a%2Fb/lines/v-3"


def test_a_path_without_places_is_the_same_for_every_call() -> None:
    assert PathTemplate("/all the/orders", {}).fill({"id": 1}) == "/all%20the/orders"


@pytest.mark.parametrize("written", ["a//b", "../b", "a/%2e%2e", "a/..;x/b", "/"])
def test_slashes_of_an_argument_lead_nowhere_else(written: str) -> None:
    path = PathTemplate("/files/{path}", {}, {"path": lambda name, value: str(value)})
    assert path.fill({"path": "a/b.txt"}) == "/files/a/b.txt"
    with pytest.raises(ExecutionFailed, match="'path'") as failed:
        path.fill({"path": written})
    assert failed.value.error_class == "invalid_arguments"
