"""Writes a tool as an AML file. Tells what AML cannot say, and what it demands and the tool does not have."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from ferrule.contracts.dialect import Emitted
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.schema import positions
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.model.value import Path, is_blank

_ORDER = (
    "spec_version", "tool_id", "version", "status", "meta", "type", "approval_required", "max_calls_per_run", "log_args",
    "data_classification", "interface", "error_codes", "transport", "use_guidance",
)  # fmt: skip
_RANK = {key: rank for rank, key in enumerate(_ORDER)}
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_UNFIT = re.compile(r"[^a-z0-9_-]+")
_RELEASE = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}")
_STATUSES = {"draft": "draft", "available": "active", "deprecated": "deprecated", "disabled": "disabled"}
_NEAREST_STATUS = {"retired": "disabled"}
_NO_PLACE = ("aliases", "search_hint", "capability_refs", "runtime_input_schema", "credentials")
_REFUSED = ("$ref", "$id", "definitions", "$defs", "$anchor", "$recursiveRef", "$dynamicRef")
_IMPLIED = {
    "retrieval": {"is_read_only": True, "is_concurrency_safe": True, "is_destructive": False, "is_open_world": True},
    "function": {"is_read_only": True, "is_concurrency_safe": True, "is_destructive": False, "is_open_world": False},
    "action": {"is_read_only": False},
    "human": {"requires_user_interaction": True},
}


def emitted(tool: Tool) -> Emitted:
    """The file's text, and a finding for each thing lost, changed or still to be written."""
    if tool.dialect == "aml":
        return Emitted(_file(msgspec.json.decode(tool.payload)), ())
    losses: list[Finding] = [_loss((key,), f"AML has no place for `{key}`") for key in _unsaid(tool)]
    kind = _type(tool)
    for fact in FACT_NAMES:
        if fact not in tool.inferred_facts and _IMPLIED[kind].get(fact, getattr(tool.facts, fact)) != getattr(
            tool.facts, fact
        ):
            losses.append(_loss((fact,), f"a tool of type {kind} cannot say `{fact}: {getattr(tool.facts, fact)}`"))
    value: dict[str, Any] = {
        "spec_version": "1.2",
        "tool_id": _tool_id(tool, losses),
        "version": _version(tool, losses),
        "status": _status(tool, losses),
        "meta": _meta(tool, losses),
        "type": kind,
        "interface": _interface(tool, losses),
        "use_guidance": {},
    }
    if tool.approval_required:
        value["approval_required"] = True
    if tool.max_calls_per_run is not None:
        value["max_calls_per_run"] = tool.max_calls_per_run
    losses.append(_loss(("use_guidance",), "nothing says when to use the tool; write `use_guidance`", "AML-74"))
    if kind != "function":
        message = "nothing says how to reach the tool; write `transport`"
        losses.append(_loss(("transport",), message, "AML-37", Severity.ERROR))
    return Emitted(_file(value), tuple(losses))


def _unsaid(tool: Tool) -> list[str]:
    return [key for key in _NO_PLACE if getattr(tool, key) not in (None, ())]


def _type(tool: Tool) -> str:
    """The mildest type that claims nothing the tool does not state."""
    facts, stated = tool.facts, set(FACT_NAMES) - set(tool.inferred_facts)
    if facts.requires_user_interaction:
        return "human"
    if "is_read_only" not in stated or facts.is_read_only is not True:
        return "action"
    return "function" if "is_open_world" in stated and facts.is_open_world is False else "retrieval"


def _tool_id(tool: Tool, losses: list[Finding]) -> str:
    fitting = _UNFIT.sub("-", tool.tool_id.lower()).strip("-")[:64]
    fitting = fitting if len(fitting) >= 3 else f"tool-{fitting or 'x'}"
    if fitting != tool.tool_id:
        losses.append(_loss(("tool_id",), f"the id {tool.tool_id!r} becomes {fitting!r}", "AML-9"))
    return fitting


def _version(tool: Tool, losses: list[Finding]) -> str:
    if tool.version is not None and _RELEASE.fullmatch(tool.version):
        return tool.version
    losses.append(_loss(("version",), f"the version {tool.version!r} becomes '0.1.0'", "AML-10"))
    return "0.1.0"


def _status(tool: Tool, losses: list[Finding]) -> str:
    status = _STATUSES.get(tool.lifecycle)
    if status is None:
        status = _NEAREST_STATUS.get(tool.lifecycle, "active")
        losses.append(_loss(("status",), f"the lifecycle {tool.lifecycle!r} becomes {status!r}", "AML-11"))
    return status


def _meta(tool: Tool, losses: list[Finding]) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": tool.title or tool.name, "description": tool.description, "owner": tool.owner}
    if is_blank(tool.description):
        meta["description"] = meta["name"]
        losses.append(_loss(("meta", "description"), "the tool has no description; its name stands in", "AML-13"))
    if is_blank(tool.owner):
        meta["owner"] = tool.namespace
        losses.append(_loss(("meta", "owner"), "nobody owns the tool; its namespace stands in", "AML-12"))
    if tool.tags:
        meta["tags"] = list(tool.tags)
    return meta


def _interface(tool: Tool, losses: list[Finding]) -> dict[str, Any]:
    if tool.output_schema is None:
        losses.append(_loss(("interface", "output"), "the tool has no output schema; any object stands in", "AML-23"))
    output = {"type": "object"} if tool.output_schema is None else msgspec.json.decode(tool.output_schema)
    return {
        "input": _rooted(msgspec.json.decode(tool.input_schema), ("interface", "input"), losses),
        "output": _rooted(output, ("interface", "output"), losses),
    }


def _rooted(schema: Any, path: Path, losses: list[Finding]) -> dict[str, Any]:
    """The schema with an object at its root; references stay, and are told."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        losses.append(_loss(path, "AML takes objects only; the schema is wrapped as `value`", "AML-25"))
        member = schema if isinstance(schema, dict | bool) else {}
        schema = {"type": "object", "properties": {"value": member}, "required": ["value"]}
    for position in positions(schema, path):
        losses += [
            _loss((*position.path, key), f"AML refuses `{key}`; write the schema out", "AML-26", Severity.ERROR)
            for key in _REFUSED
            if key in position.schema
        ]
    return {"type": "object", **schema}


def _loss(path: Path, message: str, rule: str = "AML-87", severity: Severity = Severity.WARNING) -> Finding:
    return Finding(rule, path, message, severity)


class _Dumper(yaml.SafeDumper):
    """Quotes every text, so that no reader of any YAML version takes one for a number, a date or a boolean."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


def _represent_mapping(dumper: yaml.SafeDumper, mapping: dict[str, Any]) -> yaml.Node:
    node = dumper.represent_mapping("tag:yaml.org,2002:map", mapping.items())
    for key, _ in node.value:
        if _PLAIN_KEY.fullmatch(key.value) and key.value.lower() not in _WORDS:
            key.style = None
    return node


_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(dict, _represent_mapping)


def _file(value: dict[str, Any]) -> str:
    ordered = dict(sorted(value.items(), key=lambda item: _RANK.get(item[0], len(_RANK))))
    text = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return f"---\n{text}---\n"
