"""Writes the file that declares a tool: its types, its schemas, and what a tool box or a client needs to know of it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ferrule.contracts.language import StubPlan, ToolNote, ToolPlan
from ferrule.definitions.stubs.comments import one_line
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.typescript.text import (
    camel_style,
    comment,
    fits,
    generic,
    header,
    ignored,
    imported,
    literal,
    text_member,
    write_lines,
)
from ferrule.definitions.stubs.languages.typescript.types import Declarations
from ferrule.definitions.stubs.languages.typescript.zod import schema_name, schemas
from ferrule.schema.validation.latest_draft import latest_draft

_MEMBERS = frozenset(("call", "cancel", "result", "toString", "valueOf", "hasOwnProperty", "then"))
"""Methods that a client has already, or that would be taken for something else."""


class DefinitionFile(NamedTuple):
    """The file of a tool."""

    text: str
    notes: tuple[ToolNote, ...]


def variables(plan: StubPlan) -> dict[str, str]:
    """Returns what each tool is called in code (`findOrder`), by its stem."""
    return identifiers((tool.stem for tool in plan.tools), camel_style(plan.project.acronyms), _MEMBERS)


def output_type(tool: ToolPlan) -> str:
    """Returns the type of what a tool gives."""
    return "unknown" if tool.output is None else tool.output.root.name


def definition_file(tool: ToolPlan, plan: StubPlan, variable: str) -> DefinitionFile:
    """Returns the file of a tool. `variable`: what it is called in code."""
    is_client = plan.kind == "client"
    is_zod = plan.flavour == "zod"
    types, notes = [], []
    for tree in (tool.input, tool.output):
        if tree is not None:
            found = Declarations(tree)
            types += [*found.blocks, *(schemas(tree, found.circular) if is_zod else [])]
            notes += found.notes
    definition = _client_definition(tool, variable, is_zod) if is_client else _definition(tool, variable, is_zod)
    text = "\n".join([header(tool), _imports(tool, is_client, is_zod), *types, *definition])
    return DefinitionFile(text, tuple(dict.fromkeys(ToolNote(tool.tool_id, note) for note in notes)))


def _imports(tool: ToolPlan, is_client: bool, is_zod: bool) -> str:
    support = "../ferrule" if is_client else "../../ferrule"
    names = ["type CallDefinition"] if is_client else ["type Tool", "type ToolDefinition"]
    lines = [imported(names, f"{support}/{'client' if is_client else 'tool'}.js")]
    if is_zod:
        return imported(["z"], "zod") + "\n" + "".join(lines)
    if tool.output is not None or not is_client:
        lines.append(imported(["parser"], f"{support}/validation.js"))
    return "".join(lines)


def _client_definition(tool: ToolPlan, variable: str, is_zod: bool) -> list[str]:
    blocks = [] if is_zod or tool.output is None else [_constant("outputSchema", tool.output_schema)]
    opening = generic(f"export const {variable}Definition: CallDefinition", [output_type(tool)], " = {")
    members = [text_member("name", tool.name), text_member("digest", tool.digest), _parse(tool, "Output", is_zod)]
    return [*blocks, f"{_words(tool)}{opening}{''.join(members)}}};\n"]


def _definition(tool: ToolPlan, variable: str, is_zod: bool) -> list[str]:
    types = [tool.input.root.name, output_type(tool)]
    members = [
        text_member("name", tool.name),
        text_member("title", tool.title),
        text_member("description", tool.description),
        "  inputSchema,\n",
        *([] if tool.output is None else ["  outputSchema,\n"]),
        _parse(tool, "Input", is_zod),
        _parse(tool, "Output", is_zod),
    ]
    words = comment(["Does the work of the tool."])
    function = generic(f"export type {tool.type_name}Tool = Tool", types, ";")
    opening = generic(f"export const {variable}Definition: ToolDefinition", types, " = {")
    return [
        words + function,
        _constant("inputSchema", tool.input_schema),
        *([] if tool.output_schema is None else [_constant("outputSchema", tool.output_schema)]),
        f"{_words(tool)}{opening}{''.join(members)}}};\n",
    ]


def _words(tool: ToolPlan) -> str:
    tags = write_lines(one_line(f"Tags: {', '.join(tool.tags)}.")) if tool.tags else []
    words = write_lines(tool.description) or write_lines(tool.title)
    return comment([*words, *([""] if words and tags else []), *tags])


def _parse(tool: ToolPlan, side: str, is_zod: bool) -> str:
    tree = tool.input if side == "Input" else tool.output
    if tree is None:
        return f"  parse{side}: (value) => value,\n"
    name, label = tree.root.name, side.lower()
    if is_zod:
        begins, work = f"  parse{side}: (value) =>", f"{schema_name(name)}.parse(value),\n"
        return f"{begins} {work}" if fits(f"{begins} {work}".rstrip()) else f"{begins}\n    {work}"
    return f'  parse{side}: parser("{label}", {label}Schema),\n'


def _constant(name: str, schema: msgspec.Raw | None) -> str:
    """Returns a schema as a constant, in the words of the latest draft, which Ajv and the protocol take it for."""
    written = msgspec.json.decode(schema or b"{}")
    value = latest_draft(bytes(schema or b"{}")) or (written if isinstance(written, dict) else {"not": {}})
    return ignored(f"const {name} = {literal({} if written is True else value)};")
