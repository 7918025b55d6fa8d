"""Writes client stubs: a class with a method for each tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferrule.contracts.language import Plan, ToolPlan
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.typescript.definitions import Defined, output_type
from ferrule.definitions.stubs.languages.typescript.parts import SHARED, call, exported, imported, signature, statement
from ferrule.definitions.stubs.languages.typescript.text import camel_style, comment, said

_MEMBERS = frozenset(("call", "cancel", "input", "options", "result", "toString", "valueOf", "hasOwnProperty", "then"))
"""What the class and its methods have already, or what would be taken for something else."""


def client_index(plan: Plan, defined: Sequence[Defined]) -> str:
    """`src/client/index.ts`."""
    names = identifiers((tool.stem for tool in plan.tools), camel_style(plan.project.acronyms), _MEMBERS)
    imports = imported(["FerruleClient"], "./ferrule/client.js")
    imports += imported(["CallOptions"], "./ferrule/following.js", is_type=True)
    imports += "".join(f'import * as {names[tool.stem]} from "./tools/{tool.stem}.js";\n' for tool in plan.tools)
    methods = "\n".join(_method(tool, names[tool.stem]) for tool in plan.tools)
    body = f"{{\n{methods}}}" if methods else "{}"
    words = comment([f"The tools of {each}." for each in said(plan.project.name)[:1]] or ["The tools."])
    return "\n".join(
        (
            SHARED,
            imports,
            _exports(plan, defined, names),
            f"{words}export class Client extends FerruleClient {body}\n",
        )
    )


def _exports(plan: Plan, defined: Sequence[Defined], names: Mapping[str, str]) -> str:
    """Everything that a caller names: options, errors, types, and the definitions that `Client.result` asks for."""
    lines = [
        exported(["CallProgress", "Waiting"], "./ferrule/answers.js", is_type=True),
        exported(["ClientOptions"], "./ferrule/client.js", is_type=True),
        'export * from "./ferrule/errors.js";\n',
        exported(["CallOptions"], "./ferrule/following.js", is_type=True),
    ]
    for tool, each in zip(plan.tools, defined, strict=True):
        lines.append(exported(each.types, f"./tools/{tool.stem}.js", is_type=True))
        values = [f"definition as {names[tool.stem]}Definition", *each.values]
        lines.append(exported(values, f"./tools/{tool.stem}.js"))
    return "".join(lines)


def _method(tool: ToolPlan, name: str) -> str:
    """A method; its types are reached through the tool's file, so none can be mistaken for another."""
    input_type = f"{name}.{tool.input.root.name}"
    output = output_type(tool) if tool.output is None else f"{name}.{output_type(tool)}"
    parameters = [f"input: {input_type}", "options?: CallOptions"]
    words = said(tool.description) or said(tool.title)
    return "".join(
        (
            comment(words, "  "),
            signature(name, parameters, f"Promise<{output}>", 2),
            statement(["return ", call("this.call", [f"{name}.definition", "input", "options"])], 4),
            "  }\n",
        )
    )
