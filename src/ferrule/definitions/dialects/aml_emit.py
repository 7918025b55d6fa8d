"""Writes a tool as an AML file, and reports what AML cannot state and what it demands beyond the tool's fields."""

from __future__ import annotations

import re

from ferrule.definitions.content.extension import decode_raw, encode_field, find_differences
from ferrule.definitions.content.yaml_text import format_yaml
from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.dialects.writing import (
    DialectDraft,
    DialectWriter,
    Shortfall,
    WrittenTool,
    find_base,
    write_tool,
)
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.model.value import JsonObject, is_blank
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
_FIRST_SENTENCE = re.compile(r"[^.!?\n]*[.!?]?")


def emit_tool(
    tool: Tool, tool_id: str | None = None, native_fields: tuple[str, ...] = (), is_plain: bool = False
) -> WrittenTool:
    """Writes the front matter of a tool's file. `tool_id`: the id it gets there, when another tool has its own."""
    # The namespace of an AML file is that of its workspace: a tool that was AML before loses nothing.
    namespace = tool.namespace if tool.dialect == "aml" else ""
    writer = DialectWriter(
        "aml",
        "AML",
        "AML-15",
        lambda tool: _write_draft(tool, tool_id),
        lambda value: compile_tool(value, namespace),
        lambda value, extension: {**value, EXTENSION: extension},
    )
    return write_tool(tool, writer, native_fields, is_plain=is_plain)


def format_file(value: JsonObject) -> str:
    """Formats front matter, in the order of the AML specification, and the Markdown below it."""
    members = [item for item in value.items() if item[0] != BODY]
    ordered = dict(sorted(members, key=lambda item: _RANK.get(item[0], len(_RANK))))
    body = value.get(BODY, "")
    return f"---\n{format_yaml(ordered)}---\n{body if isinstance(body, str) else ''}"


def choose_id(tool: Tool) -> str:
    """Returns the tool's id as AML accepts it."""
    base = find_base(tool, "aml")
    if base is not None and isinstance(base.get("tool_id"), str) and _ID.fullmatch(base["tool_id"]):
        return str(base["tool_id"])
    if _ID.fullmatch(tool.tool_id):
        return tool.tool_id
    fitting = _UNFIT.sub("-", tool.tool_id.lower()).strip("-")[:64].strip("-")
    return fitting if len(fitting) >= 3 else f"tool-{fitting or 'x'}"


def _write_draft(tool: Tool, tool_id: str | None) -> DialectDraft:
    shortfalls: dict[str, Shortfall] = {
        "namespace": Shortfall("an AML tool is in the namespace of its workspace", "AML-15")
    }
    base = _read_base(find_base(tool, "aml"), tool.namespace)
    if base is None:
        value: JsonObject = {"spec_version": "1.2", "type": _choose_type(tool), "meta": {}, "interface": {}}
        missing = frozenset({"title", "description", "owner", "tags", "version", "lifecycle", "approval_required"})
        missing |= {"max_calls_per_run", "input_schema", "output_schema"}
    else:
        value, back = base
        missing = frozenset(place.partition("/")[0] for place in find_differences(tool, back))
    if tool_id is None and (base is None or ("tool_id" in missing and tool.dialect == "aml")):
        tool_id = tool.tool_id if _ID.fullmatch(tool.tool_id) else choose_id(tool)
    if tool_id is not None:
        value["tool_id"] = tool_id
    _write_fields(value, tool, missing, shortfalls)
    shortfalls["tool_id"] = Shortfall(
        "an id has 3 to 64 of the characters a-z, 0-9, _ and -", "AML-9", value["tool_id"]
    )
    shortfalls["name"] = Shortfall("a tool is called by its id", "AML-9", value["tool_id"])
    shortfalls["tool_kind"] = Shortfall(
        f"a tool of type {value['type']} is of the kind that its type and transport make it"
    )
    for fact in FACT_NAMES:
        shortfalls[f"facts.{fact}"] = Shortfall(f"a tool of type {value['type']} cannot say it", "AML-14")
    shortfalls["inferred_facts"] = Shortfall("which facts are stated follows from the type", "AML-14")
    demands = () if base is not None else tuple(_fill_demands(tool, value))
    return DialectDraft(value, shortfalls, demands, is_fresh=base is None)


def _read_base(base: JsonObject | None, namespace: str) -> tuple[JsonObject, Tool] | None:
    """Returns a definition to start from and the tool it describes; None for one that cannot be read."""
    if base is None:
        return None
    value = {key: member for key, member in base.items() if key != EXTENSION}
    try:
        back = compile_tool(value, namespace)
    except Exception:  # the payload is a stranger's: dialects promise nothing about definitions with errors
        return None
    # The writer changes these two; the tool's own payload stays as it is.
    copies = {key: dict(value[key]) for key in ("meta", "interface")}
    return {**value, **copies}, back


def _write_fields(value: JsonObject, tool: Tool, missing: frozenset[str], shortfalls: dict[str, Shortfall]) -> None:
    """Writes the fields that the value does not state yet."""
    if "version" in missing:
        value["version"] = choose_version(tool)
        shortfalls["version"] = Shortfall(
            "a version is a semantic one such as 1.4.0", "AML-10", value["version"], is_default=True
        )
    if "lifecycle" in missing:
        value["status"] = _choose_status(tool, shortfalls)
    _write_meta(value["meta"], tool, missing, shortfalls)
    if "input_schema" in missing:
        value["interface"]["input"] = _fit_schema(decode_raw(tool.input_schema), "input_schema", shortfalls)
    if "output_schema" in missing:
        value["interface"]["output"] = _write_output(tool, shortfalls)
    if "approval_required" in missing:
        value.pop("approval_required", None)
        if tool.approval_required:
            value["approval_required"] = True
    if "max_calls_per_run" in missing:
        value.pop("max_calls_per_run", None)
        if tool.max_calls_per_run is not None:
            value["max_calls_per_run"] = tool.max_calls_per_run
    if "credentials" in missing and tool.dialect == "aml":
        said, transport = encode_field(tool, "credentials"), value.get("transport")
        if isinstance(said, dict) and "scheme" in said and isinstance(transport, dict):
            value["transport"] = {**transport, "credentials": said}


def choose_version(tool: Tool) -> str:
    """Returns the version of a tool as AML accepts it."""
    return tool.version if tool.version is not None and _VERSION.fullmatch(tool.version) else "0.1.0"


def _choose_status(tool: Tool, shortfalls: dict[str, Shortfall]) -> str:
    status = _STATUSES.get(tool.lifecycle)
    if status is None:
        status = _NEAREST_STATUS.get(tool.lifecycle, "active")
        shortfalls["lifecycle"] = Shortfall(f"no status says {tool.lifecycle!r}", "AML-11", status)
    return status


def _write_meta(meta: JsonObject, tool: Tool, missing: frozenset[str], shortfalls: dict[str, Shortfall]) -> None:
    if "title" in missing:
        meta["name"] = tool.title if not is_blank(tool.title) else tool.name
        shortfalls["title"] = Shortfall("a tool has a name for people", "AML-12", str(meta["name"]), is_default=True)
    if "description" in missing:
        meta["description"] = tool.description if not is_blank(tool.description) else (meta.get("name") or tool.name)
        shortfalls["description"] = Shortfall(
            "a tool has a description", "AML-13", meta["description"], is_default=True
        )
    if "owner" in missing:
        meta["owner"] = tool.owner if not is_blank(tool.owner) else (tool.namespace or "nobody")
        shortfalls["owner"] = Shortfall("a tool has an owner", "AML-12", meta["owner"], is_default=True)
    if "tags" in missing:
        meta.pop("tags", None)
        if tool.tags:
            meta["tags"] = list(tool.tags)


def _write_output(tool: Tool, shortfalls: dict[str, Shortfall]) -> JsonObject:
    if tool.output_schema is None:
        shortfalls["output_schema"] = Shortfall("a tool has an output schema", "AML-23", "any object", is_default=True)
        return {"type": "object"}
    return _fit_schema(decode_raw(tool.output_schema), "output_schema", shortfalls)


def _fit_schema(schema: object, field: str, shortfalls: dict[str, Shortfall]) -> JsonObject:
    """Returns the schema without references and with an object at its root."""
    plain = plain_schema(schema, REFUSED_BY_AML)
    if plain.why:
        shortfalls[field] = Shortfall(f"AML's {plain.why}", "AML-26", plain.put)
    kind = plain.schema.get("type", "object")
    if kind == "object":
        if "type" not in plain.schema:
            shortfalls[f"{field}/type"] = Shortfall("AML takes objects only", "AML-25", "type: object", is_default=True)
        return {"type": "object", **plain.schema}
    if isinstance(kind, list) and "object" in kind:
        shortfalls[f"{field}/type"] = Shortfall("AML takes objects only", "AML-25", "type: object")
        return {**plain.schema, "type": "object"}
    shortfalls[field] = Shortfall("AML takes objects only", "AML-25", "an object with the member `value`")
    return {"type": "object", "properties": {"value": plain.schema}, "required": ["value"]}


def _choose_type(tool: Tool) -> str:
    """Returns the mildest type that claims nothing the tool does not state."""
    facts, inferred = tool.facts, tool.inferred_facts
    if facts.requires_user_interaction:
        return "human"
    if "is_read_only" in inferred or facts.is_read_only is not True:
        return "action"
    return "function" if "is_open_world" not in inferred and facts.is_open_world is False else "retrieval"


def _fill_demands(tool: Tool, value: JsonObject) -> list[Finding]:
    """Fills in the guidance that AML demands and reports it; reports the missing transport, which cannot be made up."""
    first = _FIRST_SENTENCE.match(str(value["meta"]["description"]).strip())
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
