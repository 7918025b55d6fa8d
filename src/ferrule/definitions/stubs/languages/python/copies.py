"""Copies definitions for projects that are workspaces of their own: all that a definition says, but for how it was executed.

What an agent file says stays in an agent file, since settings and services stand there; everything else is a declaration of
Agent Tool, as conversions write it. What that has no words for stands under our key. Values are YAML that looks like JSON
and that every reader takes for the same values. JSON alone is not enough: YAML has no escapes of half characters, ends
lines elsewhere, wants a point in numbers with an exponent, and takes long keys only if they are announced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ferrule.contracts.language import Plan, Project, SourceFile
from ferrule.definitions.content.extension import as_json, decoded
from ferrule.definitions.content.linkage import EMBEDDED_AS, REFERRED_BY
from ferrule.definitions.stubs.identifiers import words
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, header
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import CLOSED_WORLD_KINDS, FACT_NAMES, SafetyFacts, Tool

_STEP = "  "
_LONGEST_KEY = 100
"""YAML takes up to 1,024 characters, and an escape makes ten of one."""
_ESCAPED = re.compile("[^\\x20-\\x7e]")


def yaml_text(value: Any) -> str:
    """A value as a document, without a line end."""
    return _written(value, "")


def _written(value: Any, indent: str) -> str:
    inner = indent + _STEP
    if isinstance(value, dict) and value:
        members = (f"{inner}{_key(key, inner)}: {_written(member, inner)}" for key, member in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{_written(item, inner)}" for item in value) + f"\n{indent}]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return json.dumps(value)


def _key(key: str, indent: str) -> str:
    return _quoted(key) if len(key) <= _LONGEST_KEY else f"? {_quoted(key)}\n{indent}"


def _quoted(text: str) -> str:
    """A text on one line. Escapes of YAML are those of JSON, and one more for characters that JSON writes in halves."""
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    one = found[0]
    if one.isprintable():
        return one
    code = ord(one)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_PLACEHOLDER_LANGUAGE = {"typescript": {"packageName": "unused", "nodeVersion": "20"}}
"""An agent file has to name a language, and Python is none that it knows."""
_TEXTS = ("tool_id", "namespace", "name", "description", "lifecycle", "tool_kind", "version", "title", "search_hint")
_LISTS = ("aliases", "capability_refs")
_BESIDE = ("tags", "owner", "max_calls_per_run")
_GUIDANCE = "use_guidance"
"""A word of AML, which models are told in whatever dialect it stands (`definitions/content/guidance.py`)."""
_DEFAULTS = SafetyFacts()


def definition_files(plan: Plan) -> list[SourceFile]:
    """A file for each agent and for each tool that no agent file says."""
    agents: dict[tuple[str, str | None], list[Tool]] = {}
    files: list[SourceFile] = []
    for planned in plan.tools:
        tool = planned.declared
        assert tool is not None, "a plan is made of tools"
        if _item(tool) is not None:
            agents.setdefault((tool.namespace, tool.version), []).append(tool)
        else:
            text = f"{header(planned)}\n{yaml_text(_declaration(tool))}\n"
            files.append(SourceFile(f"definitions/{planned.stem}.yaml", text, "generated", planned.tool_id))
    made = zip(_file_names(name for name, _ in agents), agents.values(), strict=True)
    return [*(_agent_file(name, tools, plan.project) for name, tools in made), *files]


def _file_names(agents: Iterable[str]) -> list[str]:
    found: list[str] = []
    for agent in agents:
        plain = "-".join(words(agent)) or "agent"
        name, number = plain, 1
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found.append(name)
    return found


def _agent_file(name: str, tools: list[Tool], project: Project) -> SourceFile:
    return SourceFile(
        f"definitions/{name}.agent.yaml", f"{GENERATED}\n{yaml_text(_manifest(tools, project))}\n", "generated"
    )


def _item(tool: Tool) -> dict[str, Any] | None:
    """What an agent file says of a tool."""
    item = _payload(tool).get("tool") if tool.dialect == "adl" else None
    return item if isinstance(item, dict) else None


def _payload(tool: Tool) -> dict[str, Any]:
    payload = decoded(tool.payload)
    return payload if isinstance(payload, dict) else {}


def _manifest(tools: list[Tool], project: Project) -> dict[str, Any]:
    first = tools[0]
    services = {
        each.name: {
            "type": each.type,
            "interface": each.interface,
            "factory": each.factory,
            "description": each.description or each.interface,
        }
        for each in project.services
    }
    config: dict[str, Any] = {each.name: dict(each.settings) for each in project.sections}
    builtins = {tool.name: payload["config"] for tool in tools if "config" in (payload := _payload(tool))}
    config |= {"tools": builtins} if builtins else {}
    spec: dict[str, Any] = {
        "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
        "server": {"port": 8080},
        "language": _PLACEHOLDER_LANGUAGE,
        "tools": [_item(tool) for tool in tools],
    }
    spec |= {word: said for word, said in (("services", services), ("config", config)) if said}
    about = project.description or f"Tools of {first.namespace}"
    metadata = {"name": first.namespace, "description": about, "version": first.version or project.version}
    made = {"apiVersion": "adl.inference-gateway.com/v1", "kind": "Agent", "metadata": metadata, "spec": spec}
    carried = {tool.name: payload[EXTENSION] for tool in tools if EXTENSION in (payload := _payload(tool))}
    return made | ({EXTENSION: {"tools": carried}} if carried else {})


def _declaration(tool: Tool) -> dict[str, Any]:
    """A declaration with the records that describe it inside."""
    if tool.dialect == "agent_tool" and (payload := _payload(tool)):
        within = {REFERRED_BY[kind] for kind, key in EMBEDDED_AS.items() if key in payload}
        return {key: member for key, member in payload.items() if key not in within}
    made: dict[str, Any] = {"schema_version": "0.2.0"}
    made |= {field: text for field in _TEXTS if (text := getattr(tool, field)) is not None}
    made |= {field: list(listed) for field in _LISTS if (listed := getattr(tool, field))}
    made["input_contract"] = {"model_input_schema": _schema(tool, "input_schema")}
    if tool.runtime_input_schema is not None:
        made["input_contract"]["runtime_input_schema"] = _schema(tool, "runtime_input_schema")
    if tool.output_schema is not None:
        made["output_contract"] = {"structured_schema": _schema(tool, "output_schema")}
    blocks = {
        "tool_interface": _facts(tool),
        "permission_profile": _permission(tool),
        _GUIDANCE: _payload(tool).get(_GUIDANCE),
        EXTENSION: _beside(tool),
    }
    return made | {key: block for key, block in blocks.items() if block}


def _schema(tool: Tool, field: str) -> dict[str, Any]:
    """A schema as an object, which is all that a declaration takes."""
    schema = as_json(tool, field)
    return schema if isinstance(schema, dict) else ({} if schema is True else {"not": {}})


def _facts(tool: Tool) -> dict[str, Any]:
    """What is stated, and what was inferred otherwise than a reader of the copy would infer it."""
    made: dict[str, Any] = {}
    unstated: list[str] = []
    for name in FACT_NAMES:
        value = getattr(tool.facts, name)
        usual = tool.tool_kind not in CLOSED_WORLD_KINDS if name == "is_open_world" else getattr(_DEFAULTS, name)
        if name not in tool.inferred_facts:
            made[name] = value
        elif value != usual:
            made[name] = value
            unstated.append(name)
    return made | ({"inferred_facts": unstated} if unstated else {})


def _permission(tool: Tool) -> dict[str, Any]:
    names = _credential_names(as_json(tool, "credentials"))
    made: dict[str, Any] = {"approval_required": True} if tool.approval_required else {}
    made |= {"credential_refs": names} if names else {}
    return {"risk_level": "medium" if tool.facts.is_read_only is True else "high", **made} if made else {}


def _beside(tool: Tool) -> dict[str, Any]:
    return {field: said for field in _BESIDE if (said := as_json(tool, field))}


def _credential_names(said: Any) -> list[str]:
    """What secrets and providers are called, in whatever words: never where a secret is kept."""
    if isinstance(said, list):
        return [name for name in said if isinstance(name, str) and name]
    if not isinstance(said, dict):
        return []
    if "scheme" in said:
        return _of_scheme(said)
    if isinstance(said.get("environment"), list):
        return _credential_names(said["environment"])
    every = [item for key in ("secrets", "authorization") for item in said.get(key) or ()]
    return list(dict.fromkeys(str(item["id"]) for item in every if isinstance(item, dict) and item.get("id")))


def _of_scheme(said: dict[str, Any]) -> list[str]:
    try:
        credentials = read_credentials(said)
    except BadCredentials:
        return []
    if credentials.scheme == "oauth2":
        name = credentials.provider or credentials.label
    else:
        name = credentials.ref.label if credentials.ref is not None else ""
    return [name] if name else []
