"""Implementation stubs: a function to fill in for each tool, and the module that binds them to their definitions."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.languages.python.injecting import Parameter, ServiceText, config_types, parameters, services_of
from ferrule.languages.python.source_text import (
    aliased,
    call,
    comment,
    definition,
    docstring,
    fits,
    imported,
    json_literal,
    kept,
    natural,
    plain_lines,
    quoted,
)
from ferrule.languages.python.support_files import support_files
from ferrule.languages.python.type_module import GENERATED, header, type_module
from ferrule.model.type_tree import Alias, Named, Null, Record, Type

_INDENT = " " * 4
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
        SourceFile("tools/registry.py", _registry(plan), "generated"),
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
            files.append(SourceFile(f"tests/test_{tool.stem}.py", _test(tool, given), "yours", tool.tool_id))
    services = services_of(plan.project)
    if services:
        files.append(_shared("services/__init__.py", '"""Services that tools are given."""'))
    files += [SourceFile(f"services/{each.module}.py", _service(each), "yours") for each in services.values()]
    return files


def _shared(path: str, text: str) -> SourceFile:
    return SourceFile(path, f"{GENERATED}\n{text}\n", "generated")


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _name(tool: ToolPlan) -> str:
    return " ".join(plain_lines(tool.name)) or tool.stem


def _parameter_imports(given: list[Parameter], root: str) -> tuple[list[str], list[str], list[str]]:
    """What the types of parameters need: of the standard library, of services, and of the settings."""
    modules = {each.module for each in given}
    standard = ["import logging"] if "logging" in modules else []
    standard += ["from collections.abc import Mapping"] if "mapping" in modules else []
    own: list[str] = []
    for module in sorted(module for module in modules if module.startswith("services.")):
        own += imported(module, [each.annotation for each in given if each.module == module])
    config = imported(f"{root}_config", [each.annotation for each in given if each.module == "config"])
    return standard, own, config


def _function(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    standard, services, config = _parameter_imports(given, "._generated.")
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
    return _text(
        [
            *docstring([f"{_name(tool)}. This file is yours: it is written once, and never again."]),
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
            *docstring(about or [f"Run {_name(tool)}."], _INDENT),
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


def _registry(plan: Plan) -> str:
    tools = [tool for tool in plan.tools if not tool.builtin]
    every = {tool.stem: parameters(tool, plan.project) for tool in tools}
    used = [each for given in every.values() for each in given]
    standard, _, config = _parameter_imports(used, "._generated.")
    typing = ["Annotated", "Any"] if used else ["Any"]
    made = sorted(services_of(plan.project).values(), key=lambda each: natural(each.module))
    count = Counter(tool.tool_id for tool in tools)
    stems = sorted((tool.stem for tool in tools), key=natural)
    about = "The tools of this folder, bound to their definitions.", "", "Ferrule finds it by `[functions] modules`."
    lines = [
        GENERATED,
        *docstring(about),
        "",
        "from __future__ import annotations",
        "",
        *standard,
        *(imported("typing", typing) if tools else []),
        *(["", "import ferrule"] if tools else []),
        *(["", *_service_imports(made, used)] if made else []),
        "",
        *(line for stem in stems for line in aliased(".", stem, f"_m_{stem}")),
        *(line for stem in stems for line in aliased("._generated", stem, f"_t_{stem}")),
        *config,
        *(imported("._generated._support.registering", ["expect_contract"]) if tools else []),
    ]
    if made:
        factories = [f"_make_{each.module}" for each in made]
        lines += ["", *call("SERVICES = (", factories, "", ",)" if len(made) == 1 else ")")]
    lines += ["", *(line for tool in tools for line in _checked(tool))] if tools else []
    for tool in tools:
        is_alone = count[tool.tool_id] == 1 or not tool.version
        lines += _bound(tool, every[tool.stem], tool.tool_id if is_alone else f"{tool.tool_id}@{tool.version}")
    while lines and not lines[-1]:
        lines.pop()
    return re.sub(r"\n{4,}", "\n\n\n", _text(lines)).replace("annotations\n\n\n", "annotations\n\n")


def _service_imports(services: list[ServiceText], used: list[Parameter]) -> list[str]:
    """The types of services that tools are given, and what makes each service: Ferrule looks for it in this module."""
    lines: list[str] = []
    for each in services:
        module = f"services.{each.module}"
        types = imported(module, [one.annotation for one in used if one.module == module])
        lines += [*types, *aliased(module, each.factory, f"_make_{each.module}")]
    return lines


def _checked(tool: ToolPlan) -> list[str]:
    return call(
        "expect_contract(",
        [f"_m_{tool.stem}.CONTRACT", quoted(tool.contract), quoted(f"tools/{tool.stem}.py")],
    )


def _bound(tool: ToolPlan, given: list[Parameter], target: str) -> list[str]:
    """The function that Ferrule calls: it reads the input, calls the person's function and writes the output."""
    fields = _field_names(tool)
    names = {each.name: _free(f"injected_{each.name}", fields) for each in given}
    context, rest = _free("ferrule_context", fields), _free("fields", fields)
    head = [f"{context}: ferrule.Context"]
    head += [
        f"{names[each.name]}: Annotated[{each.annotation}, ferrule.Inject({quoted(each.entry)})]" for each in given
    ]
    value = rest
    if not isinstance(tool.input.declared(tool.input.root.name), Record):  # it may take one text instead of fields
        text = _free("text", fields)
        head.append(f"{text}: Any = None")
        value = f"{rest} if {text} is None else {text}"
    passed = [context, f"_t_{tool.stem}.INPUT.typed({value})"]
    passed += [f"{each.name}={names[each.name]}" for each in given]
    gives = "Any" if tool.output is None or gives_null(tool) else "dict[str, Any]"
    result = "" if gives_null(tool) else "result = "
    return [
        "",
        "",
        *call("@ferrule.tool(", [quoted(target)]),
        *definition(f"async def {tool.stem}_tool(", [*head, f"**{rest}: Any"], f") -> {gives}:"),
        *docstring([f"Run {_name(tool)}."], _INDENT),
        *call(f"{result}await _m_{tool.stem}.{tool.stem}(", passed, _INDENT),
        *(f"{_INDENT}{line}" for line in _returned(tool)),
    ]


def gives_null(tool: ToolPlan) -> bool:
    """Whether a tool gives null and nothing else: type checkers want nobody to take that for a value."""
    tree = tool.output
    made: Type | None = tree.root if tree is not None else None
    while tree is not None and isinstance(made, Named) and isinstance(declared := tree.declared(made.name), Alias):
        made = declared.type
    return isinstance(made, Null)


def _returned(tool: ToolPlan) -> list[str]:
    if tool.output is None:
        return ["return result"]
    if gives_null(tool):
        return ["return None"]
    return [f"output = _t_{tool.stem}.OUTPUT", "given: dict[str, Any] = output.json(result)", "return given"]


def _field_names(tool: ToolPlan) -> set[str]:
    schema = msgspec.json.decode(tool.input_schema)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return set(properties) if isinstance(properties, dict) else set()


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _config(plan: Plan) -> str:
    declared, uses = config_types(plan.project)
    if not declared[2].startswith("class "):  # an assignment needs one line after the imports, a class two
        declared = declared[1:]
    return _text(
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
    return _text(
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
    return _text(
        [
            header(tool),
            *docstring(
                [
                    f"{_name(tool)}, which comes along with Ferrule: `await {tool.stem}(context, input)`.",
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


def _test(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    passed = ["cast(ferrule.Context, Mock())", "value", *(f"{each.name}=Mock()" for each in given)]
    names = ["decode_input", *(["encode_output"] if tool.output is not None else [])]
    ends = ["assert encode_output(result)"] if tool.output is not None else ["assert result is not None"]
    if gives_null(tool):
        names, ends = ["decode_input"], []
    return _text(
        [
            *docstring([f"Tests of {_name(tool)}. This file is yours: it is written once, and never again."]),
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
