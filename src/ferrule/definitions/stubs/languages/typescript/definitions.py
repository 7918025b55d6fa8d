"""Writes the file that declares a tool: its types, its schemas, and what a tool box or a client needs to know of it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ferrule.contracts.language import StubPlan, ToolNote, ToolPlan
from ferrule.definitions.stubs.comments import one_line
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.typescript.text import (
    camel_style,
    fits,
    ignore_layout,
    write_comment,
    write_generic,
    write_header,
    write_import,
    write_lines,
    write_literal,
    write_text_member,
)
from ferrule.definitions.stubs.languages.typescript.types import Declarations
from ferrule.definitions.stubs.languages.typescript.zod import name_schema, write_schemas
from ferrule.schema.validation.latest_draft import latest_draft

_MEMBERS = frozenset(("call", "cancel", "result", "toString", "valueOf", "hasOwnProperty", "then"))
"""Methods that a client has already, or that would be taken for something else."""


class DefinitionFile(NamedTuple):
    """The file of a tool."""

    text: str
    notes: tuple[ToolNote, ...]


def name_variables(plan: StubPlan) -> dict[str, str]:
    """Returns what each tool is called in code (`findOrder`), by its stem."""
    return identifiers((tool.stem for tool in plan.tools), camel_style(plan.project.acronyms), _MEMBERS)


def name_output(tool: ToolPlan) -> str:
    """Returns the type of what a tool gives."""
    return "unknown" if tool.output is None else tool.output.root.name


def write_definition(tool: ToolPlan, plan: StubPlan, variable: str) -> DefinitionFile:
    """Returns the file of a tool. `variable`: what it is called in code."""
    is_client = plan.kind == "client"
    is_zod = plan.flavour == "zod"
    types, notes = [], []
    for tree in (tool.input, tool.output):
        if tree is not None:
            found = Declarations(tree)
            types += [*found.blocks, *(write_schemas(tree, found.circular) if is_zod else [])]
            notes += found.notes
    definition = (
        _write_client_definition(tool, variable, is_zod) if is_client else _write_definition(tool, variable, is_zod)
    )
    text = "\n".join([write_header(tool), _write_imports(tool, is_client, is_zod), *types, *definition])
    return DefinitionFile(text, tuple(dict.fromkeys(ToolNote(tool.tool_id, note) for note in notes)))


def _write_imports(tool: ToolPlan, is_client: bool, is_zod: bool) -> str:
    support = "../ferrule" if is_client else "../../ferrule"
    names = ["type CallDefinition"] if is_client else ["type Tool", "type ToolDefinition"]
    lines = [write_import(names, f"{support}/{'client' if is_client else 'tool'}.js")]
    if is_zod:
        return write_import(["z"], "zod") + "\n" + "".join(lines)
    if tool.output is not None or not is_client:
        lines.append(write_import(["parser"], f"{support}/validation.js"))
    return "".join(lines)


def _write_client_definition(tool: ToolPlan, variable: str, is_zod: bool) -> list[str]:
    blocks = [] if is_zod or tool.output is None else [_write_constant("outputSchema", tool.output_schema)]
    opening = write_generic(f"export const {variable}Definition: CallDefinition", [name_output(tool)], " = {")
    members = [
        write_text_member("name", tool.name),
        write_text_member("digest", tool.digest),
        _write_parser(tool, "Output", is_zod),
    ]
    return [*blocks, f"{_describe(tool)}{opening}{''.join(members)}}};\n"]


def _write_definition(tool: ToolPlan, variable: str, is_zod: bool) -> list[str]:
    types = [tool.input.root.name, name_output(tool)]
    members = [
        write_text_member("name", tool.name),
        write_text_member("title", tool.title),
        write_text_member("description", tool.description),
        "  inputSchema,\n",
        *([] if tool.output is None else ["  outputSchema,\n"]),
        _write_parser(tool, "Input", is_zod),
        _write_parser(tool, "Output", is_zod),
    ]
    words = write_comment(["Does the work of the tool."])
    function = write_generic(f"export type {tool.type_name}Tool = Tool", types, ";")
    opening = write_generic(f"export const {variable}Definition: ToolDefinition", types, " = {")
    return [
        words + function,
        _write_constant("inputSchema", tool.input_schema),
        *([] if tool.output_schema is None else [_write_constant("outputSchema", tool.output_schema)]),
        f"{_describe(tool)}{opening}{''.join(members)}}};\n",
    ]


def _describe(tool: ToolPlan) -> str:
    tags = write_lines(one_line(f"Tags: {', '.join(tool.tags)}.")) if tool.tags else []
    words = write_lines(tool.description) or write_lines(tool.title)
    return write_comment([*words, *([""] if words and tags else []), *tags])


def _write_parser(tool: ToolPlan, side: str, is_zod: bool) -> str:
    tree = tool.input if side == "Input" else tool.output
    if tree is None:
        return f"  parse{side}: (value) => value,\n"
    name, label = tree.root.name, side.lower()
    if is_zod:
        begins, work = f"  parse{side}: (value) =>", f"{name_schema(name)}.parse(value),\n"
        return f"{begins} {work}" if fits(f"{begins} {work}".rstrip()) else f"{begins}\n    {work}"
    return f'  parse{side}: parser("{label}", {label}Schema),\n'


def _write_constant(name: str, schema: msgspec.Raw | None) -> str:
    """Returns a schema as a constant, in the words of the latest draft, which Ajv and the protocol take it for."""
    written = msgspec.json.decode(schema or b"{}")
    value = latest_draft(bytes(schema or b"{}")) or (written if isinstance(written, dict) else {"not": {}})
    return ignore_layout(f"const {name} = {write_literal({} if written is True else value)};")
