"""Writes implementation stubs: a function to fill in for each tool, what it is given, and a test for a person to go on with.

The generated registry names them all, each with the type that its tool needs: where a definition has changed and a function has
not, a type checker says so there. Tools that come along with Ferrule have types and need no function.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ferrule.contracts.language import SourceFile, StubPlan, ToolNote, ToolPlan
from ferrule.definitions.stubs.comments import one_line, split_lines
from ferrule.definitions.stubs.languages.python.source_text import (
    call,
    docstring,
    imported,
    kept,
    quoted,
)
from ferrule.definitions.stubs.languages.python.surroundings import (
    Parameter,
    PythonSurroundings,
    config_lines,
    import_lines,
    own_imports,
)
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, type_module
from ferrule.definitions.stubs.surroundings import ServiceNames

_INDENT = " " * 4
_FUTURE = ["", "from __future__ import annotations", ""]
_ENTRY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_YOURS = "This file is yours: it is written once, and never again."


def implementation_files(plan: StubPlan) -> tuple[list[SourceFile], list[ToolNote]]:
    """The files of a plan, and where types are looser than a reader would expect."""
    tools = [tool for tool in plan.tools if not tool.builtin]
    around = PythonSurroundings(plan)
    files = [
        _shared("tools/__init__.py", ['"""Tools that Ferrule runs."""']),
        _shared("tools/_generated/__init__.py", ['"""Types of the tools."""']),
        _shared("tools/registry.py", list(_registry(around, tools))),
    ]
    if around.needs_config:
        about = ['"""The settings of the agent."""', *_FUTURE]
        files.append(_shared("tools/_generated/_config.py", [*about, *config_lines(around)]))
    notes: list[ToolNote] = []
    targets = _targets(plan)
    for tool in plan.tools:
        text, found = type_module(tool, plan.flavour, (set(), [], []))
        notes += found
        files.append(SourceFile(f"tools/_generated/{tool.stem}.py", text, "generated", tool.tool_id))
        if not tool.builtin:
            given = around.function_parameters(tool)
            files.append(
                SourceFile(f"tools/{tool.stem}.py", _function(tool, targets[tool.stem], given), "yours", tool.tool_id)
            )
            files.append(SourceFile(f"tests/test_{tool.stem}.py", _test_of(tool, given), "yours", tool.tool_id))
    services = around.services.values()
    if services:
        files.append(_shared("services/__init__.py", ['"""Services that tools are given."""']))
    files += [SourceFile(f"services/{each.module}.py", _service(each), "yours") for each in services]
    return files, notes


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _shared(path: str, lines: list[str]) -> SourceFile:
    return SourceFile(path, _joined([GENERATED, *lines]), "generated")


def name_of(tool: ToolPlan) -> str:
    """What a tool is called, on one line."""
    return one_line(tool.name) or tool.stem


def _types(tool: ToolPlan) -> list[tuple[str, str]]:
    names = [f"{tool.type_name}Input", *([f"{tool.type_name}Output"] if tool.output is not None else [])]
    return [(f"tools._generated.{tool.stem}", name) for name in names]


def _gives(tool: ToolPlan) -> str:
    return f"{tool.type_name}Output" if tool.output is not None else "Any"


def _function(tool: ToolPlan, target: str, given: list[Parameter]) -> str:
    """A person's file."""
    texts = [each.text for each in given]
    names = [
        *(["Annotated"] if any("Annotated[" in text for text in texts) else []),
        *(["Any"] if tool.output is None else []),
    ]
    standard = [*_logging(given), *imported("typing", names)]
    input_type = f"input: ferrule.Arguments[{tool.type_name}Input]"
    todo = call("raise NotImplementedError(", [quoted(f"{tool.stem} is not written yet")], _INDENT)
    return _joined(
        [
            *docstring([f"{name_of(tool)}. {_YOURS}"]),
            *_FUTURE,
            *([*standard, ""] if standard else []),
            "import ferrule",
            *import_lines([*own_imports(given), *_types(tool)]),
            "",
            "",
            kept(f"@ferrule.tool({quoted(target)})"),
            *call(
                f"async def {tool.stem}(", ["context: ferrule.Context", input_type, *texts], end=f") -> {_gives(tool)}:"
            ),
            *docstring(split_lines(tool.description) or [f"Run {name_of(tool)}."], _INDENT),
            f"{_INDENT}# TODO: write what it does.",
            *todo,
        ]
    )


def _targets(plan: StubPlan) -> dict[str, str]:
    """What each function is bound to: its tool's id, where several versions are there with its version."""
    count = Counter(each.tool_id for each in plan.tools)
    return {
        tool.stem: tool.tool_id if count[tool.tool_id] == 1 or not tool.version else f"{tool.tool_id}@{tool.version}"
        for tool in plan.tools
    }


def _test_of(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    passed = ["Mock()", "Mock()", *(f"{each.name}=Mock()" for each in given)]
    return _joined(
        [
            *docstring([f"Tests of {name_of(tool)}. {_YOURS}"]),
            *_FUTURE,
            "import asyncio",
            "from unittest.mock import Mock",
            "",
            "import pytest",
            *import_lines([(f"tools.{tool.stem}", tool.stem)]),
            "",
            "",
            '@pytest.mark.skip(reason="write an input, and what should come of it")',
            kept(f"def test_{tool.stem}() -> None:"),
            *call(f"work = {tool.stem}(", passed, _INDENT),
            f"{_INDENT}asyncio.run(work)",
        ]
    )


def _logging(given: Iterable[Parameter]) -> list[str]:
    return ["import logging"] if any(each.entry == "logger" for each in given) else []


def _registry(around: PythonSurroundings, tools: list[ToolPlan]) -> Iterator[str]:
    """The module that Ferrule finds the functions by."""
    given = {tool.stem: around.function_parameters(tool) for tool in tools}
    services = list(around.services.values())
    every = [each for parameters in given.values() for each in parameters]
    yield from docstring(
        [
            "The tools of this folder. Ferrule finds it by `[functions] modules`.",
            "",
            "Where a type checker objects to a line, its tool takes, gives or is given something else than its function says.",
        ]
    )
    yield from _FUTURE
    is_loose = any(tool.output is None for tool in tools)
    names = ["Awaitable", "Callable"] if tools else []
    yield from [*_logging(every), *imported("collections.abc", names), *imported("typing", ["Any"] if is_loose else [])]
    if tools:
        yield from ["", "import ferrule"]
    aliased = [(f"services.{each.module}", each.factory, f"_make_{each.module}") for each in services]
    aliased += [("tools", tool.stem, f"_{tool.stem}") for tool in tools]
    yield from import_lines([*own_imports(every), *(each for tool in tools for each in _types(tool))], aliased)
    if services:
        factories = [f"_make_{each.module}" for each in services]
        yield from ["", *call("SERVICES = [", factories, end="]")]
    for tool in tools:
        takes = ["ferrule.Context", f"{tool.type_name}Input", *(each.kind for each in given[tool.stem])]
        handler = f"Callable[[{', '.join(takes)}], Awaitable[{_gives(tool)}]]"
        yield ""
        yield kept(f"{tool.stem}: {handler} = _{tool.stem}.{tool.stem}")


def _service(text: ServiceNames) -> str:
    """A person's file."""
    name = one_line(text.service.name)
    mark = [f"@ferrule.service({quoted(text.service.name)})"] if _ENTRY.fullmatch(text.service.name) else []
    about = ["Make the service, when a tool first needs it.", ""]
    about += ["It may also ask for `config`, for a section (`mail_config`) and for other services."]
    return _joined(
        [
            *docstring([f"The service {name}. {_YOURS}"]),
            *_FUTURE,
            "import logging",
            *(["", "import ferrule"] if mark else []),
            "",
            "",
            f"class {text.interface}:",
            *docstring(split_lines(text.service.description) or [f"What tools know as {name}."], _INDENT),
            "",
            "",
            *mark,
            *call(f"def {text.factory}(", ["logger: logging.Logger"], end=f") -> {text.interface}:"),
            *docstring(about, _INDENT),
            f"{_INDENT}# TODO: make it.",
            f"{_INDENT}return {text.interface}()",
        ]
    )
