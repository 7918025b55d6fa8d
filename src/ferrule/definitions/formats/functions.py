"""Lists of functions for a model, as providers of models take them. What differs between them is how one tool is written.

A tool that came in by a format is written back by it as it was, members we know nothing of included, as long as nobody changed
it. Nothing about its safety can be said in such a list, so every fact about a tool that comes from one is inferred.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.format import DocumentTool, Reading, WriteOptions, Writing
from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.content.guidance import describe_tool
from ferrule.definitions.formats.entries import SCHEMAS, UNREAD, Entry, Unreadable, entries
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.losses import losses_of
from ferrule.definitions.formats.offer import Offer, Offered, fitted_schema, left_out, named, refused_name
from ferrule.definitions.formats.origins import CameInAs, came_in_as
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.tool import EMPTY, FACT_NAMES, SafetyFacts, Tool, raw
from ferrule.model.value import JsonValue
from ferrule.schema.internal_fields import model_schema
from ferrule.schema.validation.validators import explain_refusal

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
_LONGEST_NAME = 256
_FACTS = SafetyFacts()


class Said(NamedTuple):
    """What a function in a list says."""

    name: JsonValue
    description: JsonValue = None
    schema: JsonValue = None
    """None for a function without arguments."""
    hints: Mapping[str, Any] = {}
    """What else a provider is told of it: `strict`, `defer_loading`."""


class FunctionList(ABC):
    """What the formats have in common. One step of inheritance, for the plumbing."""

    name: str
    title: str
    rule: NameRule
    deferred_rule: NameRule | None = None
    """The rule for names in a list with schemas that are loaded later, where it is another."""
    takes_other_names: bool = False
    """True where the provider takes more names than the rule, which is for those that are made here."""
    profile: str
    strict_profile: str = ""
    """Empty where no model is held to a schema."""
    can_defer: bool = False
    needs_description: bool = False
    schema_keys: frozenset[str]
    """Where a definition may have its schema: one of them at a time."""

    @abstractmethod
    def said(self, definition: dict[str, Any]) -> Said:
        """What a definition says. Raises Unreadable."""

    @abstractmethod
    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """A tool as a definition."""

    def document(self, definitions: list[dict[str, Any]], groups: Sequence[dict[str, Any] | None]) -> JsonValue:
        """A list of definitions. `groups`: the group that each came in with."""
        return definitions

    @abstractmethod
    def claims(self, definition: dict[str, Any]) -> bool:
        """True for a definition that is written in this format's way."""

    def detect(self, value: JsonValue) -> bool:
        """True when a tool in the document is written in this format's way."""
        return any(isinstance(entry.value, dict) and self.claims(entry.value) for entry in entries(value))

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """The functions of a list, of a request that holds one, or a single one."""
        tools: dict[str, DocumentTool] = {}
        findings: list[Finding] = []
        for entry in entries(value):
            try:
                tool = self._tool(entry, namespace, names)
                if tool.name in tools:
                    raise Unreadable(f"there are two tools called {tool.name!r}", hint="rename one of them")
                tools[tool.name] = DocumentTool(tool, entry.path)
            except Unreadable as error:
                findings.append(error.at(entry.path))
        if not tools and not findings and value != [] and value != {"tools": []}:
            hint = f"give a list of tools as {self.title} takes them, or a request that holds one"
            findings.append(Finding(UNREAD, (), "there are no tools in it", hint=hint))
        return Reading(tuple(tools.values()), tuple(findings))

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """A list of functions with these tools."""
        offer = self.offer(tools, options)
        definitions: list[dict[str, Any]] = []
        groups: list[dict[str, Any] | None] = []
        losses: list[Loss] = []
        can_be_strict = bool(self.strict_profile)
        for each in offer.tools:
            is_deferred = self.can_defer and each.tool.tool_id in options.deferred
            definition = self._definition(each, is_deferred)
            definitions.append(definition)
            groups.append(each.had.group if each.had is not None else None)
            losses += losses_of(each, self._back(each, definition), self.title, self.name, can_be_strict)
        return Writing(self.document(definitions, groups), tuple(losses), offer.left_out, offer.names, offer.findings)

    def _back(self, each: Offered, definition: dict[str, Any]) -> Tool:
        """What a definition is read as, without its payload."""
        said, tool = self.said(definition), each.tool
        if each.fitted is None or said.schema is not each.schema:
            return _plain_tool(
                self.name, "", tool.name, said, raw(NO_ARGUMENTS if said.schema is None else said.schema)
            )
        is_same = not each.fitted.changes and each.schema == decode_raw(tool.input_schema)
        return _plain_tool(self.name, "", tool.name, said, tool.input_schema if is_same else raw(each.schema))

    def offer(self, tools: Sequence[Tool], options: WriteOptions) -> Offer:
        """The tools as a model is offered them: what `write` writes, with the way back from a model's answers."""
        own = {tool.tool_id: had for tool in tools if (had := came_in_as(tool, self.name)) is not None}
        rule = self.deferred_rule if self.deferred_rule is not None and options.deferred else self.rule
        found, out = named(tools, rule, {tool_id: self._name_of(had.definition) for tool_id, had in own.items()})
        ready: list[Offered] = []
        for tool, name in found:
            each = self._offered(tool, name, own.get(tool.tool_id), options)
            if isinstance(each, Offered):
                ready.append(each)
            else:
                out.append(each)
        kept = () if self.takes_other_names else tuple(one for one in ready if not rule.is_legal(one.name))
        return Offer(tuple(ready), tuple(out), tuple(refused_name(one.tool, one.name, self.title) for one in kept))

    def _offered(self, tool: Tool, name: str, had: CameInAs | None, options: WriteOptions) -> Offered | Finding:
        is_strict = options.is_strict and bool(self.strict_profile) and tool.facts.strict
        schema = model_schema(tool)
        if had is not None and schema is tool.input_schema and self._says_all(had, name, is_strict):
            flag = self.said(had.definition).hints.get("strict") is True
            return Offered(tool, name, had.tool.description, decode_raw(had.tool.input_schema), flag, None, had)
        fitted = fitted_schema(bytes(schema), self.strict_profile if is_strict else self.profile)
        if isinstance(fitted, str):
            hint = "write it without strict schemas" if is_strict else "change the schema, or leave the tool out"
            return left_out(tool, f"{self.title} cannot be told its schema: {fitted}", hint)
        description = describe_tool(tool) or tool.title or (name if self.needs_description else "")
        return Offered(tool, name, description, fitted.schema, is_strict, fitted, had)

    def _name_of(self, definition: dict[str, Any]) -> str:
        try:
            name = self.said(definition).name
        except Unreadable:
            return ""
        return name if isinstance(name, str) else ""

    def _says_all(self, had: CameInAs, name: str, is_strict: bool) -> bool:
        """True when a definition says what the tool says now, and is written under this name."""
        try:
            said = self.said(had.definition)
        except Unreadable:
            return False
        if said.name != name or (said.description or "") != had.tool.description:
            return False
        if is_strict and said.hints.get("strict") is not True:
            return False
        return bool((NO_ARGUMENTS if said.schema is None else said.schema) == decode_raw(had.tool.input_schema))

    def _definition(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        if each.had is not None and each.is_verbatim:
            return {**each.had.definition, "defer_loading": True} if is_deferred else each.had.definition
        written = self.written(each, is_deferred)
        return written if each.had is None else _kept(each.had.definition, written, self.schema_keys)

    def _tool(self, entry: Entry, namespace: str, names: Mapping[str, str]) -> Tool:
        if not isinstance(entry.value, dict):
            raise Unreadable("a tool must be an object", hint=f"write it as {self.title} takes it")
        said = self.said(entry.value)
        name = said.name
        if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise Unreadable("the tool has no name that can be used", ("name",), "give it a name of letters and digits")
        if said.description is not None and not isinstance(said.description, str):
            raise Unreadable(f"the description of {name!r} is no text", ("description",))
        if said.schema is None and (elsewhere := sorted(SCHEMAS.intersection(entry.value) - self.schema_keys)):
            hint = "it is written for another provider: read it as that one's"
            raise Unreadable(
                f"the schema of {name!r} stands under `{elsewhere[0]}`, where {self.title} has none",
                (elsewhere[0],),
                hint,
            )
        _check_schema(name, said.schema)
        payload: dict[str, Any] = {
            "definition": entry.value,
            "external_mappings": [{"source": self.name, "function_name": name, **said.hints}],
        }
        if entry.group is not None:
            payload["group"] = entry.group
            payload["external_mappings"][0]["namespace"] = entry.group["name"]
        schema = raw(NO_ARGUMENTS if said.schema is None else said.schema)
        return _plain_tool(self.name, namespace, names.get(name, name), said, schema, raw(payload))


def _plain_tool(
    format_name: str, namespace: str, name: str, said: Said, schema: msgspec.Raw, payload: msgspec.Raw = EMPTY
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
        raise Unreadable(f"the schema of {name!r} is no object", hint="write a JSON Schema of type object")
    refusal = explain_refusal(schema)
    if refusal is not None:
        raise Unreadable(f"the schema of {name!r} is no JSON Schema: {refusal}")


def _kept(before: dict[str, Any], now: dict[str, Any], schema_keys: Iterable[str]) -> dict[str, Any]:
    """A definition that was changed, with the members it had that we know nothing of."""
    merged = {key: value for key, value in before.items() if key not in schema_keys and key != "description"}
    for key, value in now.items():
        inner = before.get(key) if key in ("function", "toolSpec") else None
        merged[key] = _kept(inner, value, schema_keys) if isinstance(inner, dict) else value
    return merged
