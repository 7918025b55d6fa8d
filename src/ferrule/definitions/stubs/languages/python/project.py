"""The files of a Python project: packaging, settings and a README."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ferrule.contracts.language import NextStep, SourceFile, StubPlan, ToolPlan
from ferrule.contracts.type_tree import RecordType
from ferrule.definitions.stubs.comments import one_line
from ferrule.definitions.stubs.identifiers import split_words
from ferrule.definitions.stubs.languages.python.records import member_names

REGISTRY = "tools.registry"
"""The module that binds the functions to their definitions."""
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?")
_FLAVOURS = {"msgspec": ["msgspec>=0.19"], "pydantic": ["pydantic>=2.6"]}
_UNFIT = re.compile(r"[^a-z0-9]+")


def write_project(plan: StubPlan) -> list[SourceFile]:
    """Returns the files of the project. Those that a person would change are theirs."""
    shared = [
        SourceFile("pyproject.toml", _write_packaging(plan), "yours"),
        SourceFile("README.md", _write_readme(plan), "yours"),
    ]
    if plan.kind == "client" or plan.place != ".":
        return shared
    settings = f"namespace = {_toml(_slug(plan.project.name))}\n\n{write_function_settings('.')}"
    return [*shared, SourceFile("ferrule.toml", settings, "yours")]


def next_steps(plan: StubPlan) -> tuple[NextStep, ...]:
    """Returns how the packages come in that the stubs need, and how the functions are put behind their definitions."""
    if plan.kind == "client":
        return tuple(_list_installs(plan))
    settings = write_function_settings(plan.place).replace("[functions]\n", "").strip().replace("\n", " and ")
    return (*_list_installs(plan), NextStep(f"write {settings} below [functions] in ferrule.toml", is_command=False))


def _list_installs(plan: StubPlan) -> Iterator[NextStep]:
    """Lists the installs that a project needs; Ferrule itself is there, and brings its own packages along."""
    needs = _FLAVOURS[plan.flavour] if plan.flavour == "pydantic" else []
    if plan.is_project and plan.flavour == "pydantic":
        words = f"pyproject.toml is yours: where it was there before, add {needs[0]} to its dependencies"
        yield NextStep(words, is_command=False)
    if plan.is_project and plan.kind == "implementation" and not plan.place:
        yield NextStep("pip install -e .")
    elif needs:
        yield NextStep("pip install -e ." if plan.is_project else f'pip install "{needs[0]}"')


def _slug(name: str) -> str:
    return "-".join(split_words(name))


def _toml(text: str) -> str:
    return json.dumps(one_line(text), ensure_ascii=False)


def _distribution(name: str) -> str:
    """Returns a name that packaging takes."""
    return _UNFIT.sub("-", _slug(name).lower()).strip("-") or "tools"


def _write_packaging(plan: StubPlan) -> str:
    project = plan.project
    version = project.version if _VERSION.fullmatch(project.version) else "0.1.0"
    needs = ["ferrule", *_FLAVOURS[plan.flavour]]
    names = ["client"] if plan.kind == "client" else ["services", "tools"]
    packages = [each for name in names for each in (name, f"{name}.*")]
    lines = [
        "[build-system]",
        'requires = ["setuptools>=64"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        f'name = "{_distribution(project.name)}"',
        f'version = "{version}"',
        f"description = {_toml(project.description or f'Tools of {project.name}')}",
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(needs)}",
        "",
        "[dependency-groups]",
        'dev = ["mypy>=1.13", "pytest>=8", "ruff>=0.8"]',
        "",
        "[tool.setuptools.packages.find]",
        f"include = {json.dumps(packages)}",
        "namespaces = false",
        "",
        "[tool.mypy]",
        "strict = true",
        f'files = ["{names[-1]}"]',
        "",
        "[tool.pytest.ini_options]",
        'pythonpath = ["."]',
    ]
    return "\n".join(lines) + "\n"


def _write_readme(plan: StubPlan) -> str:
    title = one_line(plan.project.name) or "Tools"
    title = re.sub(r"[^\w .-]", "", title) or "Tools"
    if plan.kind == "client":
        return _write_client_page(title, plan)
    return _PAGE.format(title=title, settings=_indent_settings(plan.place))


def _indent_settings(place: str) -> str:
    return write_function_settings(place).replace("\n", "\n    ").rstrip(" ")


def write_function_settings(place: str) -> str:
    """Returns the lines of `ferrule.toml` that let Ferrule find the functions in a folder, seen from its workspace."""
    paths = "" if place in ("", ".") else f"paths = {json.dumps([place])}\n"
    return f'[functions]\n{paths}modules = ["{REGISTRY}"]\n'


_PAGE = """# {title}

Tools that [Ferrule](https://github.com/ferrule-dev/ferrule) runs.

- `tools/<tool>.py` is yours: write what the tool does there.
- `services/` is yours too: what tools are given beside their input.
- `tools/_generated/` and `tools/registry.py` are generated; `ferrule gen` writes them anew.

The definitions stay where they are. The `ferrule.toml` of their workspace names the functions (`pip install -e .` lets it find
them wherever they are):

    {settings}
When a definition changes, run `ferrule gen` again. Where what a tool takes, gives or is given has changed and its function does
not fit any more, `mypy` says so.
"""
_CLIENT_PAGE = """# {title}

Calls of tools that [Ferrule](https://github.com/ferrule-dev/ferrule) serves, a module each.

    import asyncio

    from ferrule.adapters.callers import HttpCaller{imports}


    async def main() -> None:
        async with HttpCaller("http://127.0.0.1:8787", token="…") as caller:
{call}

    asyncio.run(main())

Without an address and a token, those of `FERRULE_URL` and `FERRULE_TOKEN` count. In a process that has opened the workspace,
`SurfaceCaller(app.surface(…))` calls without a server.

A call that has no result raises an error of its class, all under `CallError`. A call that waits for a person raises
`PendingError`: call with `wait_seconds=60` to wait that long, or ask later with `caller.result(error.invocation_id, …)`.
"""


def _write_client_page(title: str, plan: StubPlan) -> str:
    tool = next(iter(plan.tools), None)
    if tool is None:
        return _CLIENT_PAGE.format(title=title, imports="", call="            pass\n")
    kind = f"{tool.type_name}Input"
    imports = f"\n\n    from client.{tool.stem} import {kind}, {tool.stem}"
    line = f"            print(await {tool.stem}(caller, {_write_example(tool, kind)}))\n"
    return _CLIENT_PAGE.format(title=title, imports=imports, call=line)


def _write_example(tool: ToolPlan, kind: str) -> str:
    """Returns an input to be filled in."""
    root = tool.input.find_declaration(tool.input.root.name)
    if not isinstance(root, RecordType):
        return "…"
    names = member_names(root)
    return f"{kind}({', '.join(f'{names[member.name]}=…' for member in root.members if member.is_required)})"
