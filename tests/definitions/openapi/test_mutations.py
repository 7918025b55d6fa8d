"""Whatever somebody does to a document: the answer is tools and findings, and every tool is one that can be run."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.app.imports.openapi import import_document
from ferrule.contracts.format import WriteOptions
from ferrule.definitions.compiler.read import read
from ferrule.definitions.formats.openapi import FORMAT
from ferrule.model.document import Source
from tests.definitions.openapi.documents import ALL

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, -1, 1.5, 10**30, "", "x", "#/paths", "#/components/schemas/Pet", "$ref", [], [1], [[]], {}, {"": ""},
     {"$ref": 1}, {"$ref": "#"}, {"$ref": "#/nowhere"}, {"$ref": "http://example.com/x"}, {"$ref": "#/components/schemas/Pet"},
     {"type": "object"}, {"type": ["string", 3]}, {"allOf": [{"$ref": "#/components/schemas/Card"}]}, "\u2028", "a\nb", "{x}"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["$ref", "type", "allOf", "oneOf", "items", "properties", "required", "enum", "default", "in", "name", "style", "schema",
     "content", "parameters", "security", "servers", "discriminator", "nullable", "format", "description", "x-y", "/p{a}/{b}"]
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document, as the container and the key or position in it."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        members = node.items() if isinstance(node, dict) else enumerate(node)
        for key, member in members:
            found.append((node, key))
            if isinstance(member, dict | list):
                stack.append(member)
    return found


@st.composite
def damaged_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A good document with something wrong in it."""
    document: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(ALL)))
    for _ in range(draw(st.integers(1, 4))):
        known = places(document)
        if not known:
            break
        holder, key = known[draw(st.integers(0, len(known) - 1))]
        match draw(st.sampled_from(["replace", "drop", "copy", "rename", "add"])):
            case "replace":
                holder[key] = copy.deepcopy(draw(JUNK))
            case "drop":
                del holder[key]
            case "copy":
                other, at = known[draw(st.integers(0, len(known) - 1))]
                holder[key] = copy.deepcopy(other[at])
            case "rename" if isinstance(holder, dict):
                holder[draw(KEYS)] = holder.pop(key)
            case _ if isinstance(holder, dict):
                holder[draw(KEYS)] = copy.deepcopy(draw(JUNK))
    return document


@given(damaged_documents())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_document_gives_tools_or_findings(document: dict[str, Any]) -> None:
    made = import_document(json.dumps(document, indent=1).encode(), "openapi.json")
    assert made.score.tools == len(made.files) <= made.score.operations
    assert made.files or made.findings
    assert all(each.line >= 1 and each.message for each in made.diagnostics)
    for name, text in made.files.items():
        [back] = read(Source(name, text.encode()))
        assert back.is_parsed and not back.issues
        assert isinstance(back.value, dict) and f"{back.value['tool_id']}.tool.md" == name


@given(damaged_documents())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_document_can_be_read_as_a_format_and_written_again(document: dict[str, Any]) -> None:
    reading = FORMAT.read(document, "", {})
    assert reading.tools or reading.findings
    tools = [each.tool for each in reading.tools]
    writing = FORMAT.write(tools, WriteOptions())
    again = FORMAT.read(json.loads(json.dumps(writing.value)), "", writing.names)
    assert len(again.tools) == len(tools) - len(writing.left_out)
