"""What a tool says about itself: its title, a few sentences, and how it gives a list in pages."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.arguments import plan_request
from ferrule.definitions.openapi.descriptions import (
    build_description,
    build_title,
    describe_paging,
    flatten_markdown,
    guess_paging,
)
from ferrule.definitions.openapi.responses import plan_response
from tests.definitions.openapi.operations import document_of, operation_of, read_all

LIST = {"type": "array", "items": {"type": "string"}}


def describe(paging: dict[str, Any] | None = None, **operation: Any) -> str:
    return build_description(operation_of(document_of(operation, method="get")), "Pets", paging or {})


def paging(*names: str, answer: Any = None, headers: Any = None) -> dict[str, Any]:
    """The guess for a list with these parameters in its query."""
    content = {"application/json": {"schema": answer or LIST}}
    operation = {
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names],
        "responses": {"200": {"description": "All.", "content": content, "headers": headers or {}}},
    }
    read = read_all(operation, method="get")
    return guess_paging(plan_request(*read), plan_response(*read))


def test_one_sentence_is_joined_by_where_the_call_goes() -> None:
    assert describe(summary="Lists pets") == "Lists pets. Calls GET /pets of Pets."


def test_a_summary_that_the_description_repeats_is_said_once() -> None:
    assert describe(summary="Lists pets", description="Lists pets. Sorted by age.") == "Lists pets. Sorted by age."
    assert describe(summary="All pets", description="Sorted by age.") == "All pets. Sorted by age."


def test_a_long_description_keeps_five_sentences() -> None:
    text = describe(description="One. Two, e.g. this. Three. Four. Five. Six.", deprecated=True)
    assert text == "One. Two, e.g. this. Three. Four. It is deprecated."


def test_without_any_words_the_id_speaks() -> None:
    assert describe(operationId="listPets").startswith("List pets.")


def test_markup_is_taken_off() -> None:
    assert flatten_markdown("# Title\nSome <b>bold</b> text ![picture](x.png)") == "Title Some bold text"


@pytest.mark.parametrize(
    ("summary", "title"),
    [("List all pets.", "List all pets"), ("", "List pets"), ("x" * 81, "List pets")],
)
def test_a_short_summary_is_the_title(summary: str, title: str) -> None:
    assert build_title(operation_of(document_of({"summary": summary})), "list_pets") == title


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("page", "per_page"), {"style": "page", "argument": "page", "size_argument": "per_page"}),
        (("offset", "limit"), {"style": "offset", "argument": "offset", "size_argument": "limit"}),
        (("cursor", "limit"), {"style": "cursor", "argument": "cursor", "size_argument": "limit"}),
        (("offset",), {}),
        (("name",), {}),
        ((), {}),
    ],
)
def test_paging_is_guessed_from_the_names_of_parameters(names: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert paging(*names) == expected


def test_the_next_cursor_is_found_in_the_answer() -> None:
    meta = {"type": "object", "properties": {"nextCursor": {"type": "string"}}}
    answer = {"type": "object", "properties": {"pets": LIST, "meta": meta}}
    assert paging("cursor", answer=answer) == {"style": "cursor", "argument": "cursor", "next": "/meta/nextCursor"}


def test_links_in_a_header_are_pages_too() -> None:
    assert paging("limit", headers={"Link": {}}) == {"style": "link"}


def test_paging_is_said_in_a_sentence() -> None:
    said = {"style": "cursor", "argument": "after", "next": "/meta/next"}
    assert describe_paging(said) == "Answers come in pages; ask for the next one with `after` from `meta.next`."
    assert describe(said, summary="Lists pets").endswith("from `meta.next`.")
    assert describe_paging({"style": "link"}) == ""
