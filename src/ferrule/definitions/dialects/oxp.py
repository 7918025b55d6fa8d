"""OXP 1.0 (Open Tool Calling): tool definitions as JSON, one, a list, or a catalog with `tools`. Knows no rules.

Runtime messages (calls, responses, errors) are not definitions and are not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ferrule.contracts.dialect import Definition
from ferrule.definitions.content.extension import apply_extension
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.loss import EXTENSION
from ferrule.model.outline import Outline, ToolOutline
from ferrule.model.tool import Compiled, Tool, infer_facts, raw
from ferrule.model.value import JsonObject, JsonValue, Path

_ID = re.compile(r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)@([0-9]+\.[0-9]+\.[0-9]+)")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LIKE_ID = re.compile(r"[^\s@/:]+\.[^\s@/:]+@[^\s@/:]*")
_RAW_ID = re.compile(rb'"id"\s*:\s*"[A-Za-z0-9_]+\.[A-Za-z0-9_]+@[0-9]')
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_MEMBERS = frozenset({"id", "name", "description", "version", "input_schema", "output_schema", "requirements"})
_FOREIGN = ("inputSchema", "tool_kind", "tool_id", "schema_version", "interface_id", "invocation_id", "function")
"""Members that tell an MCP tool, an Agent Tool record or a provider's function apart."""


def is_definition(value: object) -> bool:
    """Returns True for an OXP tool definition, perhaps one with mistakes."""
    if not isinstance(value, dict):
        return False
    keys = value.keys()
    members = len(keys & _MEMBERS)
    schemas = ("input_schema" in keys) + ("output_schema" in keys)
    identity = value.get("id")
    if isinstance(identity, str) and _LIKE_ID.fullmatch(identity):
        return bool(schemas) or members >= (3 if _ID.fullmatch(identity) else 4)
    if not schemas or members < 4 or any(key in keys for key in _FOREIGN):
        return False
    wrapper = value.get("input_schema")
    if isinstance(wrapper, dict) and "parameters" in wrapper:
        return True
    return ("id" in keys or "version" in keys) and (schemas == 2 or keys <= _MEMBERS)


class OxpDialect:
    """Tool definitions of the Open eXecution Protocol."""

    name = "oxp"

    def claims_name(self, source: Source) -> bool:
        """Returns True for a JSON text with an OXP id, or both of its schemas, even when it cannot be parsed."""
        data = source.data
        if not source.name.lower().endswith(".json") or b'"inputSchema"' in data or b'"tool_kind"' in data:
            return False
        if b'"input_schema"' in data and b'"output_schema"' in data:
            return True
        if b"urn:oxp:" in data and b'"tools"' in data:
            return True
        return _RAW_ID.search(data) is not None and b'"name"' in data

    def detect(self, document: Document) -> bool:
        """Returns True for a definition, a list with one in it, or a catalog."""
        if document.syntax == "front_matter":
            return False
        return _find_shape(document.value) is not None

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """Returns one definition per tool; OXP-1 for each item that is no object."""
        value: Any = document.value
        match _find_shape(value):
            case "tool":
                return [Definition("oxp.tool", (), value)], []
            case "list":
                return _split_items(value, ())
            case "tools":
                if isinstance(value["tools"], list):
                    return _split_items(value["tools"], ("tools",))
                return [], [Finding("OXP-1", ("tools",), "`tools` must be a list of definitions")]
            case "items":
                definitions, findings = _split_items(value["items"], ("items",))
                return [Definition("oxp.catalog", (), value), *definitions], findings
            case _:
                return [], []

    def issue_rule(self, issue: Issue) -> str:
        """Returns OXP-1: unreadable text is no definition."""
        return "OXP-1"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Outlines the parts of the id. A malformed id or name is empty."""
        if definition.kind != "oxp.tool":
            return ()
        value = definition.value
        toolkit, short, version = _parse_id(value)
        name = value.get("name")
        return (
            ToolOutline(
                file=document.source.file,
                dialect=self.name,
                namespace=toolkit,
                name=name if isinstance(name, str) and _NAME.fullmatch(name) else "",
                tool_id=f"{toolkit}.{short}" if toolkit else "",
                path=definition.path,
                document=document.index,
                version=version or None,
                status="available",
                type="function",
                name_path=("name",),
            ),
        )

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """Compiles the tool: OXP states nothing about safety, so every fact is inferred, fail-closed."""
        if definition.kind != "oxp.tool":
            return Compiled()
        wrapper = definition.value.get("input_schema")
        extension = wrapper.get(EXTENSION) if isinstance(wrapper, dict) else None
        return Compiled((apply_extension(compile_definition(definition.value), extension),))


def compile_definition(value: JsonObject) -> Tool:
    """Compiles the tool of a definition without errors; members under our key do not count."""
    toolkit, short, version = _parse_id(value)
    facts, unstated = infer_facts({}, is_open_world=True)
    schema = value.get("input_schema", {})
    schema = schema.get("parameters", {key: member for key, member in schema.items() if key != EXTENSION})
    output = value.get("output_schema")
    requirements = value.get("requirements")
    return Tool(
        tool_id=f"{toolkit}.{short}",
        namespace=toolkit,
        name=value["name"],
        description=value["description"],
        lifecycle="available",
        tool_kind="function",
        dialect="oxp",
        version=version,
        title=" ".join(_WORD.sub(" ", short).split()) or short,
        input_schema=raw(schema),
        output_schema=None if output is None else raw(output),
        facts=facts,
        inferred_facts=unstated,
        credentials=raw(requirements) if requirements else None,
        payload=raw(value),
    )


def _find_shape(value: object) -> str | None:
    """Returns how a document holds its definitions: `tool`, `list`, `tools`, `items`; None when it is not OXP."""
    if isinstance(value, list):
        return "list" if any(map(is_definition, value)) else None
    if not isinstance(value, dict):
        return None
    if is_definition(value):
        return "tool"
    address = value.get("$schema")
    is_marked = isinstance(address, str) and address.startswith("urn:oxp:")
    if "tools" in value:
        tools = value["tools"]
        if is_marked or (isinstance(tools, list) and any(map(is_definition, tools))):
            return "tools"
        return "tools" if tools == [] and len(value) == 1 else None
    items = value.get("items")
    if isinstance(items, list) and any(map(is_definition, items)):
        return "items"
    return None


def _split_items(items: list[JsonValue], base: Path) -> tuple[list[Definition], list[Finding]]:
    definitions: list[Definition] = []
    findings: list[Finding] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            definitions.append(Definition("oxp.tool", (*base, index), item))
        else:
            findings.append(Finding("OXP-1", (*base, index), "a tool definition must be an object"))
    return definitions, findings


def _parse_id(value: JsonObject) -> tuple[str, str, str]:
    """Returns toolkit, tool and version; empty when the id is malformed."""
    written = value.get("id")
    parts = _ID.fullmatch(written) if isinstance(written, str) else None
    return (parts[1], parts[2], parts[3]) if parts else ("", "", "")


DIALECT = OxpDialect()
