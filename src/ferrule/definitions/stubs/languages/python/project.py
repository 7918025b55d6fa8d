"""What makes stubs a project that runs by itself: packaging, settings, definitions and a page to read first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ferrule.contracts.language import Plan, SourceFile, Step, ToolPlan
from ferrule.contracts.type_tree import Record
from ferrule.definitions.stubs.identifiers import words
from ferrule.definitions.stubs.languages.python.copies import definition_files
from ferrule.definitions.stubs.languages.python.records import KEYWORDS, member_names
from ferrule.definitions.stubs.languages.python.source_text import plain_lines, quoted

REGISTRY = "tools.registry"
"""The module that binds the functions to their definitions."""
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?")
_FLAVOURS = {"msgspec": ["msgspec>=0.19"], "pydantic": ["pydantic>=2.6"], "dataclass": [], "typeddict": []}
_UNFIT = re.compile(r"[^a-z0-9]+")


def project_files(plan: Plan) -> list[SourceFile]:
    """The files of the project. Those that a person would change are theirs."""
    shared = [SourceFile("pyproject.toml", _packaging(plan), "yours"), SourceFile("README.md", _readme(plan), "yours")]
    if plan.kind == "client":
        return shared
    settings = f"namespace = {_toml(_slug(plan.project.name))}\n\n{function_settings('.')}"
    own = SourceFile("ferrule.toml", settings, "yours")
    match plan.place:
        case "":
            return [*shared, own, *definition_files(plan)]
        case ".":
            return [*shared, own]
        case _:  # the workspace would find a second definition of each tool
            return shared


def next_steps(plan: Plan) -> tuple[Step, ...]:
    """How the packages come in that the stubs need, and how the functions are put behind their definitions."""
    if plan.kind == "client":
        return tuple(_installing(plan))
    if plan.is_project and plan.place == "":
        return (*_installing(plan), Step("ferrule build && ferrule serve"))
    settings = function_settings(plan.place or "…").replace("[functions]\n", "").strip().replace("\n", " and ")
    return (*_installing(plan), Step(f"write {settings} below [functions] in ferrule.toml", is_command=False))


def _installing(plan: Plan) -> Iterator[Step]:
    """Ferrule itself is there, and brings its own packages along."""
    needs = [] if plan.kind == "implementation" and plan.flavour == "msgspec" else _FLAVOURS[plan.flavour]
    if plan.is_project and plan.flavour == "pydantic":
        words = f"pyproject.toml is yours: where it was there before, add {needs[0]} to its dependencies"
        yield Step(words, is_command=False)
    if needs:
        yield Step("pip install -e ." if plan.is_project else f'pip install "{needs[0]}"')


def _slug(name: str) -> str:
    return "-".join(words(name))


def _toml(text: str) -> str:
    return json.dumps(" ".join(plain_lines(text)), ensure_ascii=False)


def _distribution(name: str) -> str:
    """A name that packaging takes."""
    return _UNFIT.sub("-", _slug(name).lower()).strip("-") or "tools"


def _packaging(plan: Plan) -> str:
    project = plan.project
    version = project.version if _VERSION.fullmatch(project.version) else "0.1.0"
    needs = [*([] if plan.kind == "client" else ["ferrule"]), *_FLAVOURS[plan.flavour]]
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


def _readme(plan: Plan) -> str:
    title = " ".join(plain_lines(plan.project.name)) or "Tools"
    title = re.sub(r"[^\w .-]", "", title) or "Tools"
    if plan.kind == "client":
        return _client_page(title, plan)
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

    from client import Client{imports}


    async def main() -> None:
        client = Client("http://127.0.0.1:8787", token="…")
{call}

    asyncio.run(main())

There is a method for each tool, and a `SyncClient` with the same methods for programs without asyncio. Without an address and a
token, those of `FERRULE_URL` and `FERRULE_TOKEN` count.

A call that has no result raises an error of its class, all under `CallError`. A call that waits for a person raises
`PendingError`: call with `wait_seconds=60` to wait that long, or ask later with
`client.calls.typed_result(error.invocation_id, OUTPUT)`, where `OUTPUT` is that of the module with the tool's types.
"""


def _client_page(title: str, plan: Plan) -> str:
    tool = next(iter(plan.tools), None)
    if tool is None:
        return _CLIENT_PAGE.format(title=title, imports="", call="")
    kind = f"{tool.type_name}Input"
    imports = f"\n    from client.{tool.stem} import {kind}"
    call = f"        print(await client.{tool.stem}({_example(tool, kind, plan.flavour)}))\n"
    return _CLIENT_PAGE.format(title=title, imports=imports, call=call)


def _example(tool: ToolPlan, kind: str, flavour: str) -> str:
    """An input to be filled in."""
    root = tool.input.declared(tool.input.root.name)
    if not isinstance(root, Record):
        return "…"
    names = member_names(root, flavour)
    needed = [names[member.name] for member in root.members if member.is_required]
    if all(name.isidentifier() and name not in KEYWORDS for name in needed):
        return f"{kind}({', '.join(f'{name}=…' for name in needed)})"
    return "{" + ", ".join(f"{quoted(name)}: …" for name in needed) + "}"
