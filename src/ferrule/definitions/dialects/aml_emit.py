"""Writes a tool as an AML file. Tells what AML cannot say, and what it demands and the tool does not have."""

from __future__ import annotations

import re
from typing import Any

from ferrule.definitions.content.extension import as_json, decoded, differences
from ferrule.definitions.content.yaml_text import yaml_text
from ferrule.definitions.dialects.aml import compiled_tool
from ferrule.definitions.dialects.writing import Draft, Told, Words, Written, base_of, written
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.model.value import is_blank
from ferrule.schema.inlining import REFUSED_BY_AML, plain_schema

_ORDER = (
    "spec_version", "tool_id", "version", "status", "meta", "type", "approval_required", "max_calls_per_run", "log_args",
    "data_classification", "interface", "error_codes", "transport", "use_guidance",
)  # fmt: skip
_RANK = {key: rank for rank, key in enumerate(_ORDER)} | {EXTENSION: 1000}
_ID = re.compile(r"[a-z0-9_-]{3,64}")
_UNFIT = re.compile(r"[^a-z0-9_-]+")
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){{2}}(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_STATUSES = {"draft": "draft", "available": "active", "deprecated": "deprecated", "disabled": "disabled"}
_NEAREST_STATUS = {"retired": "disabled"}
BODY = "#body"
"""The key of a payload under which a conversion keeps the Markdown of a file; no front matter can have it unquoted."""
_SENTENCE = re.compile(r"[^.!?\n]*[.!?]?")


def written_tool(
    tool: Tool, tool_id: str | None = None, beyond: tuple[str, ...] = (), is_plain: bool = False
) -> Written:
    """The front matter of a tool's file. `tool_id`: the id it gets there, where its own is not free."""
    # The namespace of an AML file is that of the workspace it lies in: nothing is lost of a tool that was AML before.
    namespace = tool.namespace if tool.dialect == "aml" else ""
    words = Words(
        "aml",
        "AML",
        "AML-15",
        lambda tool: _draft(tool, tool_id),
        lambda value: compiled_tool(value, namespace),
        lambda value, extension: {**value, EXTENSION: extension},
    )
    return written(tool, words, beyond, is_plain=is_plain)


def text_of(value: dict[str, Any]) -> str:
    """Front matter, in the order people expect, and the Markdown below it."""
    members = [item for item in value.items() if item[0] != BODY]
    ordered = dict(sorted(members, key=lambda item: _RANK.get(item[0], len(_RANK))))
    body = value.get(BODY, "")
    return f"---\n{yaml_text(ordered)}---\n{body if isinstance(body, str) else ''}"


def fitting_id(tool: Tool) -> str:
    """The tool's id as AML takes it."""
    base = base_of(tool, "aml")
    if base is not None and isinstance(base.get("tool_id"), str) and _ID.fullmatch(base["tool_id"]):
        return str(base["tool_id"])
    if _ID.fullmatch(tool.tool_id):
        return tool.tool_id
    fitting = _UNFIT.sub("-", tool.tool_id.lower()).strip("-")[:64].strip("-")
    return fitting if len(fitting) >= 3 else f"tool-{fitting or 'x'}"


def _draft(tool: Tool, tool_id: str | None) -> Draft:
    told: dict[str, Told] = {"namespace": Told("an AML tool is in the namespace of its workspace", "AML-15")}
    base = _usable(base_of(tool, "aml"), tool.namespace)
    if base is None:
        value: dict[str, Any] = {"spec_version": "1.2", "type": _type(tool), "meta": {}, "interface": {}}
        unsaid = frozenset({"title", "description", "owner", "tags", "version", "lifecycle", "approval_required"})
        unsaid |= {"max_calls_per_run", "input_schema", "output_schema"}
    else:
        value, back = base
        unsaid = frozenset(place.partition("/")[0] for place in differences(tool, back))
    if tool_id is None and (base is None or ("tool_id" in unsaid and tool.dialect == "aml")):
        tool_id = tool.tool_id if _ID.fullmatch(tool.tool_id) else fitting_id(tool)
    if tool_id is not None:
        value["tool_id"] = tool_id
    _say(value, tool, unsaid, told)
    told["tool_id"] = Told("an id has 3 to 64 of the characters a-z, 0-9, _ and -", "AML-9", value["tool_id"])
    told["name"] = Told("a tool is called by its id", "AML-9", value["tool_id"])
    told["tool_kind"] = Told(f"a tool of type {value['type']} is of the kind that its type and transport make it")
    for fact in FACT_NAMES:
        told[f"facts.{fact}"] = Told(f"a tool of type {value['type']} cannot say it", "AML-14")
    told["inferred_facts"] = Told("which facts are stated follows from the type", "AML-14")
    demands = () if base is not None else tuple(_demands(tool, value))
    return Draft(value, told, demands, is_fresh=base is None)


def _usable(base: dict[str, Any] | None, namespace: str) -> tuple[dict[str, Any], Tool] | None:
    """A definition to begin with, and what it says; None for one that cannot be read."""
    if base is None:
        return None
    value = {key: member for key, member in base.items() if key != EXTENSION}
    try:
        back = compiled_tool(value, namespace)
    except Exception:  # a payload that somebody else wrote down: dialects promise nothing about definitions with errors
        return None
    copies = {key: dict(value[key]) for key in ("meta", "interface")}
    return {**value, **copies}, back


def _say(value: dict[str, Any], tool: Tool, unsaid: frozenset[str], told: dict[str, Told]) -> None:
    """Writes the fields that the value does not say yet."""
    if "version" in unsaid:
        value["version"] = version_of(tool)
        told["version"] = Told("a version is a semantic one such as 1.4.0", "AML-10", value["version"], is_default=True)
    if "lifecycle" in unsaid:
        value["status"] = _status(tool, told)
    _say_meta(value["meta"], tool, unsaid, told)
    if "input_schema" in unsaid:
        value["interface"]["input"] = _rooted(decoded(tool.input_schema), "input_schema", told)
    if "output_schema" in unsaid:
        value["interface"]["output"] = _output(tool, told)
    if "approval_required" in unsaid:
        value.pop("approval_required", None)
        if tool.approval_required:
            value["approval_required"] = True
    if "max_calls_per_run" in unsaid:
        value.pop("max_calls_per_run", None)
        if tool.max_calls_per_run is not None:
            value["max_calls_per_run"] = tool.max_calls_per_run
    if "credentials" in unsaid and tool.dialect == "aml":
        said, transport = as_json(tool, "credentials"), value.get("transport")
        if isinstance(said, dict) and "scheme" in said and isinstance(transport, dict):
            value["transport"] = {**transport, "credentials": said}


def version_of(tool: Tool) -> str:
    """The version of a tool, as AML takes it."""
    return tool.version if tool.version is not None and _VERSION.fullmatch(tool.version) else "0.1.0"


def _status(tool: Tool, told: dict[str, Told]) -> str:
    status = _STATUSES.get(tool.lifecycle)
    if status is None:
        status = _NEAREST_STATUS.get(tool.lifecycle, "active")
        told["lifecycle"] = Told(f"no status says {tool.lifecycle!r}", "AML-11", status)
    return status


def _say_meta(meta: dict[str, Any], tool: Tool, unsaid: frozenset[str], told: dict[str, Told]) -> None:
    if "title" in unsaid:
        meta["name"] = tool.title if not is_blank(tool.title) else tool.name
        told["title"] = Told("a tool has a name for people", "AML-12", str(meta["name"]), is_default=True)
    if "description" in unsaid:
        meta["description"] = tool.description if not is_blank(tool.description) else (meta.get("name") or tool.name)
        told["description"] = Told("a tool has a description", "AML-13", meta["description"], is_default=True)
    if "owner" in unsaid:
        meta["owner"] = tool.owner if not is_blank(tool.owner) else (tool.namespace or "nobody")
        told["owner"] = Told("a tool has an owner", "AML-12", meta["owner"], is_default=True)
    if "tags" in unsaid:
        meta.pop("tags", None)
        if tool.tags:
            meta["tags"] = list(tool.tags)


def _output(tool: Tool, told: dict[str, Told]) -> dict[str, Any]:
    if tool.output_schema is None:
        told["output_schema"] = Told("a tool has an output schema", "AML-23", "any object", is_default=True)
        return {"type": "object"}
    return _rooted(decoded(tool.output_schema), "output_schema", told)


def _rooted(schema: Any, field: str, told: dict[str, Told]) -> dict[str, Any]:
    """The schema without references and with an object at its root."""
    plain = plain_schema(schema, REFUSED_BY_AML)
    if plain.why:
        told[field] = Told(f"AML's {plain.why}", "AML-26", plain.put)
    kind = plain.schema.get("type", "object")
    if kind == "object":
        if "type" not in plain.schema:
            told[f"{field}/type"] = Told("AML takes objects only", "AML-25", "type: object", is_default=True)
        return {"type": "object", **plain.schema}
    if isinstance(kind, list) and "object" in kind:
        told[f"{field}/type"] = Told("AML takes objects only", "AML-25", "type: object")
        return {**plain.schema, "type": "object"}
    told[field] = Told("AML takes objects only", "AML-25", "an object with the member `value`")
    return {"type": "object", "properties": {"value": plain.schema}, "required": ["value"]}


def _type(tool: Tool) -> str:
    """The mildest type that claims nothing the tool does not state."""
    facts, inferred = tool.facts, tool.inferred_facts
    if facts.requires_user_interaction:
        return "human"
    if "is_read_only" in inferred or facts.is_read_only is not True:
        return "action"
    return "function" if "is_open_world" not in inferred and facts.is_open_world is False else "retrieval"


def _demands(tool: Tool, value: dict[str, Any]) -> list[Finding]:
    """What AML wants to know beyond the canonical model: guidance is made up from the description, a transport cannot be."""
    first = _SENTENCE.match(str(value["meta"]["description"]).strip())
    value["use_guidance"] = {
        "use_when": [first[0] if first and first[0] else value["meta"]["name"]],
        "avoid_when": ["something else is asked for"],
    }
    if value["type"] == "action":
        value["use_guidance"]["side_effects"] = "Not stated; it may change something."
    message = "nothing says when to use the tool; what stands in `use_guidance` was made from the description"
    found = [Finding("AML-74", (tool.tool_id, "use_guidance"), message, Severity.INFO, "say it in your words")]
    if value["type"] != "function":
        hint = "write `transport`: how it is reached, and with which credentials"
        message = "nothing says how the tool is reached, and AML wants to know"
        found.append(Finding("AML-37", (tool.tool_id, "transport"), message, Severity.WARNING, hint))
    return found
