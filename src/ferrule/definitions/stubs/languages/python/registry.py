"""The module that binds persons' functions to their definitions."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from ferrule.contracts.language import Plan, ToolPlan
from ferrule.contracts.type_tree import Record
from ferrule.definitions.stubs.languages.python.injection import (
    Parameter,
    ServiceText,
    gives_null,
    joined_lines,
    name_of,
    parameter_imports,
    parameters,
    services_of,
)
from ferrule.definitions.stubs.languages.python.source_text import (
    aliased,
    call,
    definition,
    docstring,
    imported,
    natural,
    quoted,
)
from ferrule.definitions.stubs.languages.python.type_module import GENERATED

_INDENT = " " * 4


def registry_text(plan: Plan) -> str:
    """The text of the module."""
    tools = [tool for tool in plan.tools if not tool.builtin]
    every = {tool.stem: parameters(tool, plan.project) for tool in tools}
    used = [each for given in every.values() for each in given]
    standard, _, config = parameter_imports(used, "._generated.")
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
    return re.sub(r"\n{4,}", "\n\n\n", joined_lines(lines)).replace("annotations\n\n\n", "annotations\n\n")


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
        *docstring([f"Run {name_of(tool)}."], _INDENT),
        *call(f"{result}await _m_{tool.stem}.{tool.stem}(", passed, _INDENT),
        *(f"{_INDENT}{line}" for line in _returned(tool)),
    ]


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
