"""Reads and writes lists of functions, as providers of models define them. A format adds how one tool is written.

A tool that was imported from a format is written back to it unchanged, unknown members included, unless the tool was edited.
Such a list says nothing about safety, so every fact about an imported tool is inferred.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.format import DocumentTool, Reading, WriteOptions, Writing
from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.content.guidance import describe_tool
from ferrule.definitions.formats.entries import SCHEMAS, UNREAD, DocumentEntry, UnreadableTool, find_entries
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.losses import list_losses
from ferrule.definitions.formats.offer import (
    PreparedTool,
    PreparedTools,
    assign_names,
    fit_schema,
    report_left_out,
    report_refused_name,
)
from ferrule.definitions.formats.origins import OriginalTool, find_original
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.tool import EMPTY, FACT_NAMES, SafetyFacts, Tool, raw
from ferrule.model.value import JsonObject, JsonValue
from ferrule.schema.internal_fields import model_schema
from ferrule.schema.validation.validators import explain_refusal

NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}
_LONGEST_NAME = 256
_FACTS = SafetyFacts()


class FunctionDefinition(NamedTuple):
    """One function of a list."""

    name: JsonValue
    description: JsonValue = None
    schema: JsonValue = None
    """None for a function without arguments."""
    hints: Mapping[str, Any] = {}
    """Its other settings: `strict`, `defer_loading`."""


class FunctionList(ABC):
    """The common part of the formats for lists of functions."""

    name: str
    title: str
    rule: NameRule
    deferred_rule: NameRule | None = None
    """The rule for names in a list with deferred schemas, where it differs."""
    takes_other_names: bool = False
    """True where the provider accepts more names than the rule, which then only limits names that are made here."""
    profile: str
    strict_profile: str = ""
    """Empty where the provider does not enforce schemas."""
    can_defer: bool = False
    needs_description: bool = False
    schema_keys: frozenset[str]
    """The keys of a definition that may hold the schema, one at a time."""

    @abstractmethod
    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a definition. Raises Unreadable."""

    @abstractmethod
    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns a tool as a definition."""

    def build_document(self, definitions: list[JsonObject], groups: Sequence[JsonObject | None]) -> JsonValue:
        """Returns a list of definitions. `groups`: the group that each was imported with."""
        return definitions

    @abstractmethod
    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a definition in this format."""

    def detect(self, value: JsonValue) -> bool:
        """Returns True when the document has a tool in this format."""
        return any(isinstance(entry.value, dict) and self.claims(entry.value) for entry in find_entries(value))

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """Reads the functions of a list, of a request that contains one, or a single one."""
        tools: dict[str, DocumentTool] = {}
        findings: list[Finding] = []
        for entry in find_entries(value):
            try:
                tool = self._read_tool(entry, namespace, names)
                if tool.name in tools:
                    raise UnreadableTool(f"there are two tools called {tool.name!r}", hint="rename one of them")
                tools[tool.name] = DocumentTool(tool, entry.path)
            except UnreadableTool as error:
                findings.append(error.build_finding(entry.path))
        if not tools and not findings and value != [] and value != {"tools": []}:
            hint = f"give a list of tools as {self.title} takes them, or a request that holds one"
            findings.append(Finding(UNREAD, (), "there are no tools in it", hint=hint))
        return Reading(tuple(tools.values()), tuple(findings))

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """Writes a list of functions."""
        offer = self.offer(tools, options)
        definitions: list[JsonObject] = []
        groups: list[JsonObject | None] = []
        losses: list[Loss] = []
        can_be_strict = bool(self.strict_profile)
        for each in offer.tools:
            is_deferred = self.can_defer and each.tool.tool_id in options.deferred
            definition = self._build_definition(each, is_deferred)
            definitions.append(definition)
            groups.append(each.had.group if each.had is not None else None)
            losses += list_losses(each, self._read_back(each, definition), self.title, self.name, can_be_strict)
        return Writing(
            self.build_document(definitions, groups), tuple(losses), offer.left_out, offer.names, offer.findings
        )

    def _read_back(self, each: PreparedTool, definition: JsonObject) -> Tool:
        """Reads a definition back, without its payload."""
        said, tool = self.read_definition(definition), each.tool
        if each.fitted is None or said.schema is not each.schema:
            return _build_tool(
                self.name, "", tool.name, said, raw(NO_ARGUMENTS if said.schema is None else said.schema)
            )
        # Usually the very schema that was fitted; comparing it is cheaper than encoding it again.
        is_same = not each.fitted.changes and each.schema == decode_raw(tool.input_schema)
        return _build_tool(self.name, "", tool.name, said, tool.input_schema if is_same else raw(each.schema))

    def offer(self, tools: Sequence[Tool], options: WriteOptions) -> PreparedTools:
        """Returns the tools as `write` writes them, with the way back from a model's calls."""
        own = {tool.tool_id: had for tool in tools if (had := find_original(tool, self.name)) is not None}
        rule = self.deferred_rule if self.deferred_rule is not None and options.deferred else self.rule
        found, out = assign_names(
            tools, rule, {tool_id: self._read_name(had.definition) for tool_id, had in own.items()}
        )
        ready: list[PreparedTool] = []
        for tool, name in found:
            each = self._prepare_tool(tool, name, own.get(tool.tool_id), options)
            if isinstance(each, PreparedTool):
                ready.append(each)
            else:
                out.append(each)
        kept = () if self.takes_other_names else tuple(one for one in ready if not rule.is_legal(one.name))
        return PreparedTools(
            tuple(ready), tuple(out), tuple(report_refused_name(one.tool, one.name, self.title) for one in kept)
        )

    def _prepare_tool(
        self, tool: Tool, name: str, had: OriginalTool | None, options: WriteOptions
    ) -> PreparedTool | Finding:
        is_strict = options.is_strict and bool(self.strict_profile) and tool.facts.strict
        schema = model_schema(tool)
        if had is not None and schema is tool.input_schema and self._is_unchanged(had, name, is_strict):
            flag = self.read_definition(had.definition).hints.get("strict") is True
            return PreparedTool(tool, name, had.tool.description, decode_raw(had.tool.input_schema), flag, None, had)
        fitted = fit_schema(bytes(schema), self.strict_profile if is_strict else self.profile)
        if isinstance(fitted, str):
            hint = "write it without strict schemas" if is_strict else "change the schema, or leave the tool out"
            return report_left_out(tool, f"{self.title} cannot accept its schema: {fitted}", hint)
        description = describe_tool(tool) or tool.title or (name if self.needs_description else "")
        return PreparedTool(tool, name, description, fitted.schema, is_strict, fitted, had)

    def _read_name(self, definition: JsonObject) -> str:
        try:
            name = self.read_definition(definition).name
        except UnreadableTool:
            return ""
        return name if isinstance(name, str) else ""

    def _is_unchanged(self, had: OriginalTool, name: str, is_strict: bool) -> bool:
        """Returns True when an imported definition still states all of the tool, under this name."""
        try:
            said = self.read_definition(had.definition)
        except UnreadableTool:
            return False
        if said.name != name or (said.description or "") != had.tool.description:
            return False
        if is_strict and said.hints.get("strict") is not True:
            return False
        return bool((NO_ARGUMENTS if said.schema is None else said.schema) == decode_raw(had.tool.input_schema))

    def _build_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        if each.had is not None and each.is_verbatim:
            return {**each.had.definition, "defer_loading": True} if is_deferred else each.had.definition
        written = self.write_definition(each, is_deferred)
        return written if each.had is None else _merge_unknown_members(each.had.definition, written, self.schema_keys)

    def _read_tool(self, entry: DocumentEntry, namespace: str, names: Mapping[str, str]) -> Tool:
        if not isinstance(entry.value, dict):
            raise UnreadableTool("a tool must be an object", hint=f"write it as {self.title} takes it")
        said = self.read_definition(entry.value)
        name = said.name
        if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise UnreadableTool(
                "the tool has no name that can be used", ("name",), "give it a name of letters and digits"
            )
        if said.description is not None and not isinstance(said.description, str):
            raise UnreadableTool(f"the description of {name!r} is no text", ("description",))
        if said.schema is None and (elsewhere := sorted(SCHEMAS.intersection(entry.value) - self.schema_keys)):
            hint = "it is written for another provider: read it as that one's"
            raise UnreadableTool(
                f"the schema of {name!r} is under `{elsewhere[0]}`, where {self.title} has none",
                (elsewhere[0],),
                hint,
            )
        _check_schema(name, said.schema)
        payload: JsonObject = {
            "definition": entry.value,
            "external_mappings": [{"source": self.name, "function_name": name, **said.hints}],
        }
        if entry.group is not None:
            payload["group"] = entry.group
            payload["external_mappings"][0]["namespace"] = entry.group["name"]
        schema = raw(NO_ARGUMENTS if said.schema is None else said.schema)
        return _build_tool(self.name, namespace, names.get(name, name), said, schema, raw(payload))


def _build_tool(
    format_name: str,
    namespace: str,
    name: str,
    said: FunctionDefinition,
    schema: msgspec.Raw,
    payload: msgspec.Raw = EMPTY,
) -> Tool:
    return Tool(
        tool_id=name,
        namespace=namespace,
        name=name,
        description=said.description if isinstance(said.description, str) else "",
        lifecycle="available",
        tool_kind="function",
        dialect=format_name,
        input_schema=schema,
        facts=_FACTS,
        inferred_facts=FACT_NAMES,
        payload=payload,
    )


def _check_schema(name: str, schema: JsonValue) -> None:
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise UnreadableTool(f"the schema of {name!r} is no object", hint="write a JSON Schema of type object")
    refusal = explain_refusal(schema)
    if refusal is not None:
        raise UnreadableTool(f"the schema of {name!r} is no JSON Schema: {refusal}")


def _merge_unknown_members(before: JsonObject, now: JsonObject, schema_keys: Iterable[str]) -> JsonObject:
    """Returns a changed definition with the unknown members of the former one."""
    merged = {key: value for key, value in before.items() if key not in schema_keys and key != "description"}
    for key, value in now.items():
        inner = before.get(key) if key in ("function", "toolSpec") else None
        merged[key] = _merge_unknown_members(inner, value, schema_keys) if isinstance(inner, dict) else value
    return merged
