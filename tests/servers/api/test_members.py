"""Every member that leaves each endpoint, listed in `members.txt`: nothing new goes out because a record of the domain grew.

Write the list anew with `python -m tests.servers.api.test_members` and read the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ferrule.servers.api.field_docs import read_field_docs
from ferrule.servers.api.openapi import build_openapi

LIST = Path(__file__).with_name("members.txt")
_DEEPEST = 6


def test_no_endpoint_gives_a_member_that_is_not_listed() -> None:
    assert LIST.read_text().splitlines() == list(lines())


def lines() -> Iterator[str]:
    """One line for each endpoint and status, below it a line for each member."""
    document = build_openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                for kind, content in response.get("content", {}).items():
                    yield f"{method.upper()} {path} {status} {kind}"
                    yield from (f"  {member}" for member in members(content["schema"], document))


def members(schema: dict[str, Any], document: dict[str, Any], place: str = "", depth: int = 0) -> Iterator[str]:
    """The members of what a schema describes, `items[].tool_id`; `*` where it is an object of anything."""
    schema = resolved(schema, document)
    for option in schema.get("anyOf", ()):
        yield from members(option, document, place, depth)
    if "properties" in schema and depth < _DEEPEST:
        for name, member in schema["properties"].items():
            here = f"{place}.{name}" if place else name
            yield here
            yield from members(member, document, here, depth + 1)
    elif "additionalProperties" in schema or (schema.get("type") == "object" and "properties" not in schema):
        yield f"{place}.*" if place else "*"
    if isinstance(schema.get("items"), dict):
        yield from members(schema["items"], document, f"{place}[]", depth)


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """What a reference leads to."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def test_members_are_documented_where_records_are_defined() -> None:
    shapes = build_openapi()["components"]["schemas"]
    assert shapes["ProblemDetails"]["properties"]["code"]["description"] == "Stable; programs decide by it."
    found = shapes["SearchResult"]["properties"]["total_deferred_tools"]
    assert found["description"] == "All deferred tools, not only the matches.", "without the id of a requirement"
    assert read_field_docs(dict) == {}


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line in lines()))
