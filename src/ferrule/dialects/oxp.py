"""OXP 1.0 (Open Tool Calling): tool definitions as JSON, one, a list, or a catalog with `tools`. Knows no rules.

Runtime messages (calls, responses, errors) are not definitions and are not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.contracts.dialect import Definition, Emitted
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.document import Document, Issue, Source
from ferrule.model.outline import Outline, ToolOutline
from ferrule.model.schema import positions
from ferrule.model.tool import FACT_NAMES, Compiled, Tool, inferred, raw
from ferrule.model.value import Path, is_blank

_ID = re.compile(r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)@([0-9]+\.[0-9]+\.[0-9]+)")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LIKE_ID = re.compile(r"[^\s@/:]+\.[^\s@/:]+@[^\s@/:]*")
_RAW_ID = re.compile(rb'"id"\s*:\s*"[A-Za-z0-9_]+\.[A-Za-z0-9_]+@[0-9]')
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_PART_UNFIT = re.compile(r"[^A-Za-z0-9_]")
_NAME_UNFIT = re.compile(r"[^A-Za-z0-9_-]")

EXCLUDED = frozenset({"$ref", "$defs", "definitions", "$id", "$anchor", "$dynamicRef", "schemas"})
"""Keywords that schemas may have elsewhere and not in OXP (OXP-11)."""
_NO_PLACE = (
    "aliases", "search_hint", "tags", "owner", "capability_refs", "runtime_input_schema", "approval_required",
    "max_calls_per_run", "credentials",
)  # fmt: skip
"""Fields of the model that OXP has no member for."""
_MEMBERS = frozenset({"id", "name", "description", "version", "input_schema", "output_schema", "requirements"})
_FOREIGN = ("inputSchema", "tool_kind", "tool_id", "schema_version", "interface_id", "invocation_id", "function")
"""Members that tell an MCP tool, an Agent Tool record or a provider's function apart."""


def is_definition(value: object) -> bool:
    """Whether a value plainly is an OXP tool definition, perhaps one with mistakes."""
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
        """A JSON text that names an OXP id, or both of its schemas: enough to tell when it cannot be parsed."""
        data = source.data
        if not source.name.lower().endswith(".json") or b'"inputSchema"' in data or b'"tool_kind"' in data:
            return False
        if b'"input_schema"' in data and b'"output_schema"' in data:
            return True
        if b"urn:oxp:" in data and b'"tools"' in data:
            return True
        return _RAW_ID.search(data) is not None and b'"name"' in data

    def detect(self, document: Document) -> bool:
        """A definition, a list with one in it, or a catalog."""
        if document.syntax == "front_matter":
            return False
        return _shape(document.value) is not None

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """One definition per tool. What is no object is an OXP-1 where it stands."""
        value: Any = document.value
        match _shape(value):
            case "tool":
                return [Definition("oxp.tool", (), value)], []
            case "list":
                return _items(value, ())
            case "tools":
                if isinstance(value["tools"], list):
                    return _items(value["tools"], ("tools",))
                return [], [Finding("OXP-1", ("tools",), "`tools` must be a list of definitions")]
            case "items":
                definitions, findings = _items(value["items"], ("items",))
                return [Definition("oxp.catalog", (), value), *definitions], findings
            case _:
                return [], []

    def issue_rule(self, issue: Issue) -> str:
        """Whatever the reader noticed, the definition is not what OXP-1 asks for."""
        return "OXP-1"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """The id taken apart. An id or name that is malformed is empty here."""
        if definition.kind != "oxp.tool":
            return ()
        value = definition.value
        toolkit, short, version = _identity(value)
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
        """The canonical tool: nothing about safety is stated in OXP, so every fact is inferred, fail-closed."""
        if definition.kind != "oxp.tool":
            return Compiled()
        value: Any = definition.value
        toolkit, short, version = _identity(value)
        facts, unstated = inferred({}, is_open_world=True)
        schema = value.get("input_schema", {})
        output = value.get("output_schema")
        requirements = value.get("requirements")
        tool = Tool(
            tool_id=f"{toolkit}.{short}",
            namespace=toolkit,
            name=value["name"],
            description=value["description"],
            lifecycle="available",
            tool_kind="function",
            dialect=self.name,
            version=version,
            title=" ".join(_WORD.sub(" ", short).split()) or short,
            input_schema=raw(schema.get("parameters", schema)),
            output_schema=None if output is None else raw(output),
            facts=facts,
            inferred_facts=unstated,
            credentials=raw(requirements) if requirements else None,
            payload=raw(value),
        )
        return Compiled((tool,))

    def emit(self, tool: Tool) -> Emitted:
        """The tool as an OXP definition."""
        if tool.dialect == self.name:
            return _written(msgspec.json.decode(tool.payload))
        return _emitted(tool)


def _shape(value: Any) -> str | None:
    """How the document holds its definitions: `tool`, `list`, `tools`, `items`; None when it is not OXP."""
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


def _items(items: list[Any], base: Path) -> tuple[list[Definition], list[Finding]]:
    definitions: list[Definition] = []
    findings: list[Finding] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            definitions.append(Definition("oxp.tool", (*base, index), item))
        else:
            findings.append(Finding("OXP-1", (*base, index), "a tool definition must be an object"))
    return definitions, findings


def _identity(value: dict[str, Any]) -> tuple[str, str, str]:
    """Toolkit, tool and version; empty when the id is malformed."""
    written = value.get("id")
    parts = _ID.fullmatch(written) if isinstance(written, str) else None
    return (parts[1], parts[2], parts[3]) if parts else ("", "", "")


def _written(value: Any) -> Emitted:
    """A definition that was OXP already, in the shape of 1.0."""
    schema = value.get("input_schema", {})
    parameters = schema if "parameters" in schema else {"parameters": schema}
    return Emitted(value | {"input_schema": parameters, "output_schema": value.get("output_schema")}, ())


def _emitted(tool: Tool) -> Emitted:
    """A tool of another dialect: what OXP has no member for is told as a loss."""
    losses: list[Finding] = [_loss((key,), f"OXP has no place for `{key}`") for key in _unsaid(tool)]
    toolkit, short = _part(tool.namespace), _part(tool.name)
    name = _NAME_UNFIT.sub("_", tool.name)[:64]
    if (toolkit, name) != (tool.namespace, tool.name):
        losses.append(_loss(("name",), f"{tool.namespace}/{tool.name} becomes {toolkit}.{short}", "OXP-2"))
    version = tool.version or "1.0.0"
    if not _VERSION.fullmatch(version):
        losses.append(_loss(("version",), f"the version {version} becomes 1.0.0", "OXP-6"))
        version = "1.0.0"
    parameters = _plain(msgspec.json.decode(tool.input_schema), ("input_schema",), losses)
    value: dict[str, Any] = {
        "id": f"{toolkit}.{short}@{version}",
        "name": name,
        "description": tool.description,
        "version": version,
        "input_schema": {"parameters": _described(parameters, losses)},
        "output_schema": {},
    }
    if tool.output_schema is not None:
        value["output_schema"] = _plain(msgspec.json.decode(tool.output_schema), ("output_schema",), losses)
    return Emitted(value, tuple(losses))


def _unsaid(tool: Tool) -> list[str]:
    """The fields of the model that say something OXP cannot."""
    keys = [key for key in _NO_PLACE if getattr(tool, key) not in (None, (), False)]
    keys += [fact for fact in FACT_NAMES if fact not in tool.inferred_facts]
    if tool.lifecycle != "available":
        keys.append("lifecycle")
    return keys


def _part(text: str) -> str:
    return _PART_UNFIT.sub("_", text) or "_"


def _plain(schema: Any, path: Path, losses: list[Finding]) -> Any:
    """A schema without the keywords OXP excludes. What a reference pointed at is lost, which is told."""
    if not isinstance(schema, dict):
        return {} if schema is True else {"not": {}}
    found = list(positions(schema, path))
    if all(EXCLUDED.isdisjoint(position.schema) for position in found):
        return schema
    for position in found:
        losses += [
            _loss((*position.path, key), f"OXP schemas have no `{key}`", "OXP-11")
            for key in position.schema
            if key in EXCLUDED
        ]
    return _without({position.path for position in found}, schema, path)


def _without(places: set[Path], value: Any, path: Path) -> Any:
    is_schema = path in places
    if isinstance(value, dict):
        return {
            key: _without(places, member, (*path, key))
            for key, member in value.items()
            if not (is_schema and key in EXCLUDED)
        }
    if isinstance(value, list):
        return [_without(places, item, (*path, index)) for index, item in enumerate(value)]
    return value


def _described(parameters: Any, losses: list[Finding]) -> Any:
    """Parameters with a description each; one that has none gets its name."""
    members = parameters.get("properties")
    if not isinstance(members, dict):
        return parameters
    described: dict[str, Any] = {}
    for name, member in members.items():
        schema = member if isinstance(member, dict) else _plain(member, (), [])
        if is_blank(schema.get("description")):
            losses.append(
                _loss(("input_schema", "properties", name), f"parameter {name!r} has no description", "OXP-10")
            )
            schema = schema | {"description": name}
        described[name] = schema
    return parameters | {"properties": described}


def _loss(path: Path, message: str, rule: str = "OXP-18") -> Finding:
    return Finding(rule, path, message, Severity.WARNING)


DIALECT = OxpDialect()
