"""Writes client stubs: beside a tool's types a typed function that calls it."""

from __future__ import annotations

from ferrule.contracts.language import SourceFile, StubPlan, ToolNote, ToolPlan
from ferrule.definitions.stubs.comments import split_lines
from ferrule.definitions.stubs.languages.python.source_text import quote, write_call, write_docstring, write_import
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, write_type_module

_INDENT = " " * 4


def write_client(plan: StubPlan) -> tuple[list[SourceFile], list[ToolNote]]:
    """Returns the files of a plan, and where types are looser than a reader would expect."""
    files = [
        SourceFile("client/__init__.py", f'{GENERATED}\n"""Typed calls of tools, a module each."""\n', "generated")
    ]
    notes: list[ToolNote] = []
    for tool in plan.tools:
        uses = {"Unpack", *(["Any"] if tool.output is None else [])}
        own = write_import("ferrule.adapters.callers", ["Caller", "CallOptions"])
        text, found = write_type_module(tool, plan.flavour, (uses, own, _write_function(tool)))
        files.append(SourceFile(f"client/{tool.stem}.py", text, "generated", tool.tool_id))
        notes += found
    return files, notes


def _write_function(tool: ToolPlan) -> list[str]:
    output = f"{tool.type_name}Output" if tool.output is not None else "Any"
    takes = ["caller: Caller", f"input: {tool.type_name}Input", "**options: Unpack[CallOptions]"]
    about = split_lines(tool.description) or [f"Call {' '.join(split_lines(tool.name)) or tool.stem}."]
    passed = [quote(tool.name), "input", output, "**options"]
    return [
        "",
        "",
        *write_call(f"async def {tool.stem}(", takes, end=f") -> {output}:"),
        *write_docstring(about, _INDENT),
        *write_call(f"result: {output} = await caller.call(", passed, _INDENT),
        f"{_INDENT}return result",
    ]
