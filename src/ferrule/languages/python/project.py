"""What makes stubs a project that runs by itself: packaging, settings, definitions and a page to read first."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from ferrule.contracts.language import Injected, Plan, Project, SourceFile, Step, ToolPlan
from ferrule.languages.python.source_text import plain_lines
from ferrule.languages.python.type_module import GENERATED, header
from ferrule.model.identifiers import words

REGISTRY = "tools.registry"
"""The module that binds the functions to their definitions."""
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?")
_FLAVOURS = {"msgspec": ["msgspec>=0.19"], "pydantic": ["pydantic>=2.6"], "dataclass": [], "typeddict": []}
_PLACEHOLDER_LANGUAGE = {"typescript": {"packageName": "unused", "nodeVersion": "20"}}
"""An agent file has to name a language, and Python is none that it knows."""


def project_files(plan: Plan) -> list[SourceFile]:
    """The files of the project. Those that a person would change are theirs."""
    shared = [SourceFile("pyproject.toml", _packaging(plan), "yours"), SourceFile("README.md", _readme(plan), "yours")]
    if plan.kind == "client":
        return shared
    settings = f"namespace = {_toml(_slug(plan.project.name))}\n\n{function_settings('.')}"
    own = SourceFile("ferrule.toml", settings, "yours")
    match plan.place:
        case "":
            return [*shared, own, *_definitions(plan)]
        case ".":
            return [*shared, own]
        case _:  # the workspace would find a second definition of each tool
            return shared


def next_steps(plan: Plan) -> tuple[Step, ...]:
    """How the functions are put behind their definitions."""
    if plan.kind == "client":
        return ()
    if plan.is_project and plan.place == "":
        return (Step("ferrule build && ferrule serve"),)
    settings = function_settings(plan.place or "…").replace("[functions]\n", "").strip().replace("\n", " and ")
    return (Step(f"write {settings} below [functions] in ferrule.toml", is_command=False),)


def _slug(name: str) -> str:
    return "-".join(words(name))


def _toml(text: str) -> str:
    return json.dumps(" ".join(plain_lines(text)), ensure_ascii=False)


def _packaging(plan: Plan) -> str:
    project = plan.project
    version = project.version if _VERSION.fullmatch(project.version) else "0.1.0"
    needs = [*([] if plan.kind == "client" else ["ferrule"]), *_FLAVOURS[plan.flavour]]
    package = "client" if plan.kind == "client" else "tools"
    lines = [
        "[project]",
        f"name = {_toml(_slug(project.name))}",
        f'version = "{version}"',
        f"description = {_toml(project.description or f'Tools of {project.name}')}",
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(needs)}",
        "",
        "[dependency-groups]",
        'dev = ["mypy>=1.13", "pytest>=8", "ruff>=0.8"]',
        "",
        "[tool.mypy]",
        "strict = true",
        f'files = ["{package}"]',
        "",
        "[tool.pytest.ini_options]",
        'pythonpath = ["."]',
    ]
    return "\n".join(lines) + "\n"


def _readme(plan: Plan) -> str:
    title = " ".join(plain_lines(plan.project.name)) or "Tools"
    title = re.sub(r"[^\w .-]", "", title) or "Tools"
    if plan.kind == "client":
        return _CLIENT_PAGE.format(title=title)
    copies = "" if plan.place else " and `definitions/`"
    return _PAGE.format(title=title, copies=copies, run=_around(plan.place) if plan.place else _ALONE)


def _around(place: str) -> str:
    """How Ferrule finds the functions where the definitions are those of a workspace that was there before."""
    settings = function_settings(place).replace("\n", "\n    ").rstrip(" ")
    return f"The definitions stay where they are. The `ferrule.toml` beside them names the functions:\n\n    {settings}"


def function_settings(place: str) -> str:
    """The lines of `ferrule.toml` that let Ferrule find the functions in a folder, seen from its workspace."""
    paths = "" if place == "." else f"paths = {json.dumps([place])}\n"
    return f'[functions]\n{paths}modules = ["{REGISTRY}"]\n'


_PAGE = """# {title}

Tools that [Ferrule](https://github.com/ferrule-dev/ferrule) runs.

- `tools/<tool>.py` is yours: write what the tool does there.
- `services/` is yours too: what tools are given beside their input.
- `tools/_generated/`, `tools/registry.py`{copies} are generated; `ferrule gen` writes them anew.

{run}
When a definition changes, run `ferrule gen` again. Where what a tool takes or gives has changed, `mypy` and Ferrule object to
the `CONTRACT` in its file: look at the generated types, mend the function, then write the new digits.
"""
_ALONE = """    pip install -e .
    ferrule check
    ferrule build
    ferrule serve
"""
_CLIENT_PAGE = """# {title}

A client of tools that [Ferrule](https://github.com/ferrule-dev/ferrule) serves.

    import asyncio

    from client import Client


    async def main() -> None:
        client = Client("http://127.0.0.1:8420", token="…")


    asyncio.run(main())

There is a method for each tool. A call that has no result raises an error of its class, all under `CallError`; a call that
waits for a person raises `PendingError`. Without an address and a token, those of `FERRULE_URL` and `FERRULE_TOKEN` count.
"""


def _definitions(plan: Plan) -> list[SourceFile]:
    """The tools as this project's own definitions. What is given settings, and what comes along with Ferrule, needs an agent."""
    agents = dict.fromkeys(
        _agent(tool) for tool in plan.tools if tool.builtin or any(each.kind != "logger" for each in tool.inject)
    )
    files = []
    for agent in agents:
        tools = [tool for tool in plan.tools if _agent(tool) == agent and tool.output is None]
        text = f"{GENERATED}\n{_json(_manifest(agent, tools, plan.project))}\n"
        files.append(SourceFile(f"definitions/{_slug(agent)}.yaml", text, "generated"))
    for tool in plan.tools:
        if _agent(tool) not in agents or tool.output is not None:
            text = f"{header(tool)}\n{_json(_definition(tool, plan.project))}\n"
            files.append(SourceFile(f"definitions/{tool.stem}.yaml", text, "generated", tool.tool_id))
    return files


def _json(value: Any) -> str:
    """JSON is YAML too, if nothing in it is beyond ASCII: YAML knows other line ends."""
    return json.dumps(value, indent=2)


def _agent(tool: ToolPlan) -> str:
    return tool.tool_id.rpartition(".")[0]


def _manifest(agent: str, tools: list[ToolPlan], project: Project) -> dict[str, Any]:
    services = {
        each.name: {
            "type": "service",
            "interface": each.interface,
            "factory": each.factory,
            "description": each.description or each.interface,
        }
        for each in project.services
    }
    config: dict[str, Any] = {each.name: dict(each.settings) for each in project.sections}
    builtins = {tool.builtin: dict(tool.builtin_config) for tool in tools if tool.builtin}
    if builtins:
        config["tools"] = builtins
    spec: dict[str, Any] = {
        "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
        "server": {"port": 8080},
        "language": _PLACEHOLDER_LANGUAGE,
        "tools": [_agent_tool(tool) for tool in tools],
    }
    spec |= {word: said for word, said in (("services", services), ("config", config)) if said}
    about = project.description or f"Tools of {agent}"
    version = next((tool.version for tool in tools if tool.version), project.version)
    metadata = {"name": agent, "description": about, "version": version}
    return {"apiVersion": "adl.inference-gateway.com/v1", "kind": "Agent", "metadata": metadata, "spec": spec}


def _agent_tool(tool: ToolPlan) -> dict[str, Any]:
    identity = tool.tool_id.rpartition(".")[2]
    if tool.builtin:
        return {"id": identity}
    made = {
        "id": identity,
        "name": tool.title or identity,
        "description": tool.description,
        "tags": list(tool.tags) or ["tool"],
        "schema": msgspec.json.decode(tool.input_schema),
    }
    return made | ({"inject": [_entry(each) for each in tool.inject]} if tool.inject else {})


def _entry(injected: Injected) -> str:
    return {"logger": "logger", "config": "config", "section": f"config.{injected.name}"}.get(
        injected.kind, injected.name
    )


def _definition(tool: ToolPlan, project: Project) -> dict[str, Any]:
    made: dict[str, Any] = {
        "schema_version": "0.2.0",
        "tool_id": tool.tool_id,
        "namespace": _agent(tool) or _slug(project.name),
        "name": tool.name,
        "title": tool.title or tool.name,
        "description": tool.description,
        "lifecycle": "available",
        "tool_kind": "function",
        "input_contract": {"model_input_schema": msgspec.json.decode(tool.input_schema)},
    }
    if tool.output_schema is not None:
        made["output_contract"] = {"structured_schema": msgspec.json.decode(tool.output_schema)}
    return made
