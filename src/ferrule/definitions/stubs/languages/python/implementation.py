"""Writes implementation stubs: a function to fill in for each tool, what it is given, and a test for a person to go on with.

Tools that come along with Ferrule are bound here too; the registration of functions is `registry.py`.
"""

from __future__ import annotations

import re

import msgspec

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.python.injection import (
    Parameter,
    ServiceText,
    config_types,
    gives_null,
    joined_lines,
    name_of,
    parameter_imports,
    parameters,
    services_of,
)
from ferrule.definitions.stubs.languages.python.registry import registry_text
from ferrule.definitions.stubs.languages.python.source_text import (
    aliased,
    call,
    comment,
    definition,
    docstring,
    fits,
    imported,
    json_literal,
    kept,
    plain_lines,
    quoted,
)
from ferrule.definitions.stubs.languages.python.type_module import GENERATED, header, support_files, type_module

_INDENT = " " * 4


def test_of(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    passed = ["cast(ferrule.Context, Mock())", "value", *(f"{each.name}=Mock()" for each in given)]
    names = ["decode_input", *(["encode_output"] if tool.output is not None else [])]
    ends = ["assert encode_output(result)"] if tool.output is not None else ["assert result is not None"]
    if gives_null(tool):
        names, ends = ["decode_input"], []
    return joined_lines(
        [
            *docstring([f"Tests of {name_of(tool)}. This file is yours: it is written once, and never again."]),
            "",
            "from __future__ import annotations",
            "",
            "import asyncio",
            "from typing import cast",
            "from unittest.mock import Mock",
            "",
            "import ferrule",
            "import pytest",
            "",
            *aliased("tools", tool.stem, "written"),
            *imported("tools._generated._support.json_text", ["DecodeError"]),
            *imported(f"tools._generated.{tool.stem}", names),
            "",
            "",
            "def test_what_is_no_json_is_refused() -> None:",
            f"{_INDENT}with pytest.raises(DecodeError):",
            f'{_INDENT * 2}decode_input(b"no JSON")',
            "",
            "",
            '@pytest.mark.skip(reason="write an input, and what should come of it")',
            "def test_an_input_gives_what_it_should() -> None:",
            f'{_INDENT}value = decode_input(b"{{}}")',
            *_asyncio_run(f"written.{tool.stem}(", passed, "" if gives_null(tool) else "result = "),
            *(f"{_INDENT}{line}" for line in ends),
        ]
    )


def _asyncio_run(head: str, passed: list[str], result: str) -> list[str]:
    return [*call(f"made = {head}", passed, _INDENT), f"{_INDENT}{result}asyncio.run(made)"]


_ENTRY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_CONTRACT_TELLS = (
    "What this file was written for. When a type checker or Ferrule objects to this line,",
    "what the tool takes or gives has changed: look at _generated/{stem}.py, mend the",
    "function below, then write the new digits here.",
)


def implementation_files(plan: Plan) -> list[SourceFile]:
    """The files of a plan."""
    flavour = plan.flavour
    has_builtins = any(tool.builtin for tool in plan.tools)
    files = [
        _shared("tools/__init__.py", '"""Tools that Ferrule runs."""'),
        _shared("tools/_generated/__init__.py", '"""Types of the tools."""'),
        *support_files("tools/_generated/_support", flavour, is_client=False, has_builtins=has_builtins),
        SourceFile("tools/registry.py", registry_text(plan), "generated"),
    ]
    if plan.project.sections or any(each.kind == "config" for tool in plan.tools for each in tool.inject):
        files.append(SourceFile("tools/_generated/_config.py", _config(plan), "generated"))
    for tool in plan.tools:
        text = type_module(tool, flavour, "._support")
        files.append(SourceFile(f"tools/_generated/{tool.stem}.py", text, "generated", tool.tool_id))
        if tool.builtin:
            files.append(SourceFile(f"tools/{tool.stem}.py", _builtin(tool), "generated", tool.tool_id))
        else:
            given = parameters(tool, plan.project)
            files.append(SourceFile(f"tools/{tool.stem}.py", _function(tool, given), "yours", tool.tool_id))
            files.append(SourceFile(f"tests/test_{tool.stem}.py", test_of(tool, given), "yours", tool.tool_id))
    services = services_of(plan.project)
    if services:
        files.append(_shared("services/__init__.py", '"""Services that tools are given."""'))
    files += [SourceFile(f"services/{each.module}.py", _service(each), "yours") for each in services.values()]
    return files


def _shared(path: str, text: str) -> SourceFile:
    return SourceFile(path, f"{GENERATED}\n{text}\n", "generated")


def _function(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    standard, services, config = parameter_imports(given, "._generated.")
    output = f"{tool.type_name}Output" if tool.output is not None else "Any"
    names = [f"{tool.type_name}Contract", f"{tool.type_name}Input"]
    names += [output] if tool.output is not None else []
    names += ["decode_output"] if tool.output is not None and tool.placeholder is not None else []
    needs_any = tool.output is None or any(each.module in ("any", "mapping") for each in given)
    standard += ["from typing import Any"] if needs_any else []
    about = plain_lines(tool.description)
    arguments = ["context: ferrule.Context", f"input: {tool.type_name}Input"]
    arguments += ["*", *(f"{each.name}: {each.annotation}" for each in given)] if given else []
    tells = [line.format(stem=tool.stem) for line in _CONTRACT_TELLS]
    return joined_lines(
        [
            *docstring([f"{name_of(tool)}. This file is yours: it is written once, and never again."]),
            "",
            "from __future__ import annotations",
            *(["", *standard] if standard else []),
            "",
            "import ferrule",
            *(["", *services] if services else []),
            "",
            *config,
            *imported(f"._generated.{tool.stem}", names),
            "",
            *comment(tells, mark="#"),
            kept(f"CONTRACT: {tool.type_name}Contract = {quoted(tool.contract)}"),
            "",
            "",
            *definition(f"async def {tool.stem}(", arguments, f") -> {output}:"),
            *docstring(about or [f"Run {name_of(tool)}."], _INDENT),
            *_placeholder(tool),
        ]
    )


def _placeholder(tool: ToolPlan) -> list[str]:
    todo = f"{_INDENT}# TODO: write what it does."
    if tool.output is None:
        return [todo, f'{_INDENT}return {{"status": "not implemented"}}']
    if tool.placeholder is None:
        told = quoted(f"{tool.stem} is not written yet")
        return [todo, *call("raise NotImplementedError(", [told], _INDENT)]
    value = msgspec.json.format(bytes(tool.placeholder), indent=0).decode()
    line = f"{_INDENT}return decode_output({quoted(value)})"
    if fits(line):
        return [f"{todo} Until then it gives a placeholder.", line]
    first, *middle, last = json_literal(value)
    return [f"{todo} Until then it gives a placeholder.", f"{_INDENT}return decode_output({first}", *middle, f"{last})"]


def _config(plan: Plan) -> str:
    declared, uses = config_types(plan.project)
    if not declared[2].startswith("class "):  # an assignment needs one line after the imports, a class two
        declared = declared[1:]
    return joined_lines(
        [
            GENERATED,
            '"""The settings of the agent."""',
            "",
            "from __future__ import annotations",
            "",
            *imported("typing", uses & {"Any", "NotRequired", "TypedDict"}),
            *declared,
        ]
    )


def _service(text: ServiceText) -> str:
    """A person's file."""
    name = " ".join(plain_lines(text.service.name))
    about = plain_lines(text.service.description)
    mark = [f"@ferrule.service({quoted(text.service.name)})"] if _ENTRY.fullmatch(text.service.name) else []
    return joined_lines(
        [
            *docstring([f"The service {name}. This file is yours: it is written once, and never again."]),
            "",
            "from __future__ import annotations",
            "",
            "import logging",
            *(["", "import ferrule"] if mark else []),
            "",
            "",
            f"class {text.interface}:",
            *docstring(about or [f"What tools know as {name}."], _INDENT),
            "",
            "",
            *mark,
            *definition(f"def {text.factory}(", ["logger: logging.Logger"], f") -> {text.interface}:"),
            *docstring(
                [
                    "Make the service, when a tool first needs it.",
                    "",
                    "It may also ask for `config`, for a section (`mail_config`) and for other services.",
                ],
                _INDENT,
            ),
            f"{_INDENT}# TODO: make it.",
            f"{_INDENT}return {text.interface}()",
        ]
    )


def _builtin(tool: ToolPlan) -> str:
    """A tool that comes along with Ferrule: nothing to fill in."""
    config = msgspec.json.encode(tool.builtin_config, order="sorted")
    first, *rest = json_literal(msgspec.json.format(config, indent=2).decode())
    tags = ", ".join(quoted(tag) for tag in tool.tags)
    arguments = [
        "INPUT",
        f"tool_id={quoted(tool.tool_id)}",
        f"name={quoted(tool.builtin)}",
        f"description={quoted(' '.join(plain_lines(tool.description)))}",
        f"tags=({tags}{',' if len(tool.tags) == 1 else ''})",
        "config=CONFIG",
    ]
    lines = [f"{tool.stem} = Builtin(", *(f"{_INDENT}{each}," for each in arguments), ")"]
    return joined_lines(
        [
            header(tool),
            *docstring(
                [
                    f"{name_of(tool)}, which comes along with Ferrule: `await {tool.stem}(context, input)`.",
                    "",
                    "Ferrule runs it by its definition; this is for calls from other code.",
                ]
            ),
            "",
            "from __future__ import annotations",
            "",
            *imported("._generated._support.builtin_tools", ["Builtin"]),
            *imported(f"._generated.{tool.stem}", ["INPUT", f"{tool.type_name}Input"]),
            "",
            f"CONFIG = {first}",
            *rest,
            "",
            *lines,
            "",
            f'__all__ = ["{tool.type_name}Input", "{tool.stem}"]',
        ]
    )
