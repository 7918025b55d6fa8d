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
    keep_line,
    quote,
    write_call,
    write_docstring,
    write_import,
)
from ferrule.definitions.stubs.languages.python.surroundings import (
    InjectedParameter,
    PythonSurroundings,
    list_imports,
    write_config,
    write_imports,
)
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, write_type_module
from ferrule.definitions.stubs.surroundings import ServiceNames

_INDENT = " " * 4
_FUTURE = ["", "from __future__ import annotations", ""]
_ENTRY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_YOURS = "This file is yours: it is written once, and never again."


def write_implementation(plan: StubPlan) -> tuple[list[SourceFile], list[ToolNote]]:
    """Returns the files of a plan, and where types are looser than a reader would expect."""
    tools = [tool for tool in plan.tools if not tool.builtin]
    around = PythonSurroundings(plan)
    files = [
        _make_generated("tools/__init__.py", ['"""Tools that Ferrule runs."""']),
        _make_generated("tools/_generated/__init__.py", ['"""Types of the tools."""']),
        _make_generated("tools/registry.py", list(_write_registry(around, tools))),
    ]
    if around.needs_config:
        about = ['"""The settings of the agent."""', *_FUTURE]
        files.append(_make_generated("tools/_generated/_config.py", [*about, *write_config(around)]))
    notes: list[ToolNote] = []
    targets = _name_targets(plan)
    for tool in plan.tools:
        text, found = write_type_module(tool, plan.flavour, (set(), [], []))
        notes += found
        files.append(SourceFile(f"tools/_generated/{tool.stem}.py", text, "generated", tool.tool_id))
        if not tool.builtin:
            given = around.function_parameters(tool)
            files.append(
                SourceFile(
                    f"tools/{tool.stem}.py", _write_function(tool, targets[tool.stem], given), "yours", tool.tool_id
                )
            )
            files.append(SourceFile(f"tests/test_{tool.stem}.py", _write_test(tool, given), "yours", tool.tool_id))
    services = around.services.values()
    if services:
        files.append(_make_generated("services/__init__.py", ['"""Services that tools are given."""']))
    files += [SourceFile(f"services/{each.module}.py", _write_service(each), "yours") for each in services]
    return files, notes


def _join_lines(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _make_generated(path: str, lines: list[str]) -> SourceFile:
    return SourceFile(path, _join_lines([GENERATED, *lines]), "generated")


def write_name(tool: ToolPlan) -> str:
    """Writes a tool's name on one line."""
    return one_line(tool.name) or tool.stem


def _list_types(tool: ToolPlan) -> list[tuple[str, str]]:
    names = [f"{tool.type_name}Input", *([f"{tool.type_name}Output"] if tool.output is not None else [])]
    return [(f"tools._generated.{tool.stem}", name) for name in names]


def _name_output(tool: ToolPlan) -> str:
    return f"{tool.type_name}Output" if tool.output is not None else "Any"


def _write_function(tool: ToolPlan, target: str, given: list[InjectedParameter]) -> str:
    """Returns a person's file."""
    texts = [each.text for each in given]
    names = [
        *(["Annotated"] if any("Annotated[" in text for text in texts) else []),
        *(["Any"] if tool.output is None else []),
    ]
    standard = [*_logging(given), *write_import("typing", names)]
    input_type = f"input: ferrule.Arguments[{tool.type_name}Input]"
    todo = write_call("raise NotImplementedError(", [quote(f"{tool.stem} is not written yet")], _INDENT)
    return _join_lines(
        [
            *write_docstring([f"{write_name(tool)}. {_YOURS}"]),
            *_FUTURE,
            *([*standard, ""] if standard else []),
            "import ferrule",
            *write_imports([*list_imports(given), *_list_types(tool)]),
            "",
            "",
            keep_line(f"@ferrule.tool({quote(target)})"),
            *write_call(
                f"async def {tool.stem}(",
                ["context: ferrule.Context", input_type, *texts],
                end=f") -> {_name_output(tool)}:",
            ),
            *write_docstring(split_lines(tool.description) or [f"Run {write_name(tool)}."], _INDENT),
            f"{_INDENT}# TODO: write what it does.",
            *todo,
        ]
    )


def _name_targets(plan: StubPlan) -> dict[str, str]:
    """Names the tool that each function is bound to: by its id, and by its version where there are several."""
    count = Counter(each.tool_id for each in plan.tools)
    return {
        tool.stem: tool.tool_id if count[tool.tool_id] == 1 or not tool.version else f"{tool.tool_id}@{tool.version}"
        for tool in plan.tools
    }


def _write_test(tool: ToolPlan, given: list[InjectedParameter]) -> str:
    """Returns a person's file."""
    passed = ["Mock()", "Mock()", *(f"{each.name}=Mock()" for each in given)]
    return _join_lines(
        [
            *write_docstring([f"Tests of {write_name(tool)}. {_YOURS}"]),
            *_FUTURE,
            "import asyncio",
            "from unittest.mock import Mock",
            "",
            "import pytest",
            *write_imports([(f"tools.{tool.stem}", tool.stem)]),
            "",
            "",
            '@pytest.mark.skip(reason="write an input, and what should come of it")',
            keep_line(f"def test_{tool.stem}() -> None:"),
            *write_call(f"work = {tool.stem}(", passed, _INDENT),
            f"{_INDENT}asyncio.run(work)",
        ]
    )


def _logging(given: Iterable[InjectedParameter]) -> list[str]:
    return ["import logging"] if any(each.entry == "logger" for each in given) else []


def _write_registry(around: PythonSurroundings, tools: list[ToolPlan]) -> Iterator[str]:
    """Yields the module that Ferrule finds the functions by."""
    given = {tool.stem: around.function_parameters(tool) for tool in tools}
    services = list(around.services.values())
    every = [each for parameters in given.values() for each in parameters]
    yield from write_docstring(
        [
            "The tools of this folder. Ferrule finds it by `[functions] modules`.",
            "",
            "Where a type checker objects to a line, its tool takes, gives or is given something else than its function says.",
        ]
    )
    yield from _FUTURE
    is_loose = any(tool.output is None for tool in tools)
    names = ["Awaitable", "Callable"] if tools else []
    yield from [
        *_logging(every),
        *write_import("collections.abc", names),
        *write_import("typing", ["Any"] if is_loose else []),
    ]
    if tools:
        yield from ["", "import ferrule"]
    aliased = [(f"services.{each.module}", each.factory, f"_make_{each.module}") for each in services]
    aliased += [("tools", tool.stem, f"_{tool.stem}") for tool in tools]
    yield from write_imports([*list_imports(every), *(each for tool in tools for each in _list_types(tool))], aliased)
    if services:
        factories = [f"_make_{each.module}" for each in services]
        yield from ["", *write_call("SERVICES = [", factories, end="]")]
    for tool in tools:
        takes = ["ferrule.Context", f"{tool.type_name}Input", *(each.kind for each in given[tool.stem])]
        handler = f"Callable[[{', '.join(takes)}], Awaitable[{_name_output(tool)}]]"
        yield ""
        yield keep_line(f"{tool.stem}: {handler} = _{tool.stem}.{tool.stem}")


def _write_service(text: ServiceNames) -> str:
    """Returns a person's file."""
    name = one_line(text.service.name)
    mark = [f"@ferrule.service({quote(text.service.name)})"] if _ENTRY.fullmatch(text.service.name) else []
    about = ["Make the service, when a tool first needs it.", ""]
    about += ["It may also ask for `config`, for a section (`mail_config`) and for other services."]
    return _join_lines(
        [
            *write_docstring([f"The service {name}. {_YOURS}"]),
            *_FUTURE,
            "import logging",
            *(["", "import ferrule"] if mark else []),
            "",
            "",
            f"class {text.interface}:",
            *write_docstring(split_lines(text.service.description) or [f"What tools know as {name}."], _INDENT),
            "",
            "",
            *mark,
            *write_call(f"def {text.factory}(", ["logger: logging.Logger"], end=f") -> {text.interface}:"),
            *write_docstring(about, _INDENT),
            f"{_INDENT}# TODO: make it.",
            f"{_INDENT}return {text.interface}()",
        ]
    )
