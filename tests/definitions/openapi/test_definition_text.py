"""The definition file of a tool: what its operation says, and words for what OpenAPI does not say."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.compiler.read import read
from ferrule.definitions.openapi.definition_text import DocumentContext, find_owner, format_long_value, write_definition
from ferrule.definitions.openapi.drafts import Drafter
from ferrule.model.document import Source
from tests.definitions.openapi.importing import body
from tests.definitions.openapi.operations import document_of, heading_of

AROUND = DocumentContext("Pets", "1.2.0", "shop", "2026-01-31")


def write_file(
    operation: dict[str, Any] | None = None, around: DocumentContext = AROUND, **more: Any
) -> tuple[dict[str, Any], str]:
    """The front matter of a tool's file, and its whole text."""
    document = document_of(operation, **{"servers": [{"url": "https://pets.example.com"}], **more})
    drafting = Drafter(document)
    heading = heading_of(document)
    text = write_definition(drafting.draft(heading, drafting.choose_name(heading)), around, {})
    (found,) = read(Source("a.tool.md", text.encode()))
    assert not found.issues and isinstance(found.value, dict)
    return found.value, text


def test_a_file_says_what_the_operation_says() -> None:
    value, text = write_file({"operationId": "listPets", "summary": "List pets", "tags": ["a", "b", "a"]}, method="get")
    assert (value["tool_id"], value["version"], value["status"], value["type"]) == (
        "list_pets",
        "1.2.0",
        "active",
        "retrieval",
    )
    assert value["meta"]["name"] == "List pets" and value["meta"]["tags"] == ["a", "b"]
    assert "side_effects" not in value["use_guidance"]
    assert "From `GET /pets` of Pets 1.2.0." in text


@pytest.mark.parametrize(
    ("operation", "more", "status"),
    [
        ({}, {}, "active"),
        ({}, {"servers": []}, "draft"),
        ({"deprecated": True}, {}, "deprecated"),
    ],
)
def test_the_status_says_whether_a_tool_can_be_called(
    operation: dict[str, Any], more: dict[str, Any], status: str
) -> None:
    value, _ = write_file(operation, **more)
    assert value["status"] == status
    assert ("last_updated" in value["meta"]) is (status == "deprecated")


def test_a_version_that_is_no_release_becomes_the_first_one() -> None:
    value, _ = write_file(around=AROUND._replace(api_version="v1-beta"))
    assert value["version"] == "1.0.0"


def test_a_tool_that_changes_something_says_so() -> None:
    value, _ = write_file(method="delete")
    assert value["use_guidance"]["side_effects"] == "Deletes data in Pets, which may not be undone."
    assert value["x-ferrule"]["facts"]["is_destructive"] is True


def test_an_example_of_what_is_sent_is_shown_below() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    _, text = write_file(body(schema, example={"name": "Rex"}))
    assert '```json\n{"name": "Rex"}\n```' in text


def test_long_values_are_shown_in_lines_or_not_at_all() -> None:
    assert format_long_value({"a": "x" * 300}).startswith("{\n  ")
    assert format_long_value({"a": "x" * 3000}) == ""


@pytest.mark.parametrize(
    ("info", "owner"),
    [
        ({"contact": {"name": " Pet\nteam "}}, "Pet team"),
        ({"contact": {"name": " "}}, "pets"),
        ({"contact": []}, "pets"),
    ],
)
def test_the_owner_is_whom_the_document_names(info: dict[str, Any], owner: str) -> None:
    assert find_owner(info, "pets") == owner
