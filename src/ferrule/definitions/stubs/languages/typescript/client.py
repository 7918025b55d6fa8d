"""Writes client stubs: a class with a method for each tool."""

from __future__ import annotations

from ferrule.contracts.language import StubPlan, ToolPlan
from ferrule.definitions.stubs.languages.typescript.definitions import name_output, name_variables
from ferrule.definitions.stubs.languages.typescript.text import (
    SHARED,
    write_comment,
    write_import,
    write_lines,
    write_list,
)


def write_client_index(plan: StubPlan) -> str:
    """Returns `src/client/index.ts`."""
    named = name_variables(plan)
    imports = [write_import(["FerruleClient", "type CallOptions"], "./ferrule/client.js")]
    exports = [
        'export type { CallDefinition, CallOptions } from "./ferrule/client.js";\n',
        'export {\n  FerruleError,\n  type CallDetails,\n  type ConnectionOptions,\n} from "./ferrule/connection.js";\n',
    ]
    methods = []
    for tool in plan.tools:
        definition = f"{named[tool.stem]}Definition"
        roots = [tool.input.root.name, *([] if tool.output is None else [tool.output.root.name])]
        source = f"./tools/{tool.stem}.js"
        imports.append(write_import([definition, *(f"type {name}" for name in roots)], source))
        exports.append(f'export * from "{source}";\n')
        methods.append(_write_method(tool, named[tool.stem], definition))
    words = write_comment([f"The tools of {each}." for each in write_lines(plan.project.name)[:1]] or ["The tools."])
    body = "\n".join(methods)
    text = (
        f"{words}export class Client extends FerruleClient {{\n{body}}}\n"
        if methods
        else f"{words}export class Client extends FerruleClient {{}}\n"
    )
    return "\n".join((SHARED, "".join(imports), "".join(exports), text))


def _write_method(tool: ToolPlan, name: str, definition: str) -> str:
    parameters = [f"input: {tool.input.root.name}", "options?: CallOptions"]
    begins = write_list(f"async {name}(", parameters, f"): Promise<{name_output(tool)}> {{", "  ")
    returns = write_list("return this.call(", [definition, "input", "options"], ");", "    ")
    return f"{write_comment(write_lines(tool.description) or write_lines(tool.title), '  ')}{begins}{returns}  }}\n"
