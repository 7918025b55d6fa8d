"""The generated file of a tool: its types, its schemas and what it is called."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ferrule.contracts.language import ToolNote, ToolPlan
from ferrule.definitions.stubs.languages.typescript.declarations import Declarations
from ferrule.definitions.stubs.languages.typescript.parts import header, imported, signature, text_member, texts_member
from ferrule.definitions.stubs.languages.typescript.text import KEYWORDS, comment, said, string

_CONTRACT = "Changes when the input or the output of the tool does."


class Defined(NamedTuple):
    """The definition of a tool as source."""

    text: str
    types: tuple[str, ...]
    """The names of the types it exports."""
    values: tuple[str, ...]
    """The names of lists of values it exports."""
    notes: tuple[ToolNote, ...]


def defined(tool: ToolPlan, support: str, *, is_client: bool = False) -> Defined:
    """The file that declares a tool's types. `support`: the path of the support files from it."""
    trees = (tool.input,) if tool.output is None else (tool.input, tool.output)
    declared = [Declarations(tree) for tree in trees]
    imports = imported(["Definition"], f"{support}/definition.js")
    blocks = [
        *(each.text for each in declared),
        *([] if is_client or tool.builtin else [_contract(tool)]),
        _definition(tool),
    ]
    if tool.builtin and not is_client:
        imports += imported(["CallOptions"], f"{support}/following.js", is_type=True)
        imports += imported(["callRemote", "createRemoteTool"], f"{support}/remote.js")
        imports += imported(["Tool"], f"{support}/tool.js", is_type=True)
        blocks.append(_remote(tool))
    text = "\n".join([header(tool.tool_id, tool.digest), imports, *blocks])
    return Defined(
        text,
        tuple(each.name for tree in trees for each in tree.declarations),
        tuple(name for each in declared for name in each.values),
        tuple(dict.fromkeys(ToolNote(tool.tool_id, note) for each in declared for note in each.notes)),
    )


def output_type(tool: ToolPlan) -> str:
    """The type of what a tool gives."""
    return "unknown" if tool.output is None else tool.output.root.name


def _contract(tool: ToolPlan) -> str:
    name = f"{tool.type_name}Contract"
    line = f'export type {name} = "{tool.contract}";'
    if len(line) > 80:
        line = f'export type {name} =\n  "{tool.contract}";'
    return f"{comment([_CONTRACT])}{line}\n"


def _definition(tool: ToolPlan) -> str:
    words = said(tool.description) or said(tool.title) or ["What the tool takes and gives."]
    return "".join(
        (
            f"interface Types {{\n  input: {tool.input.root.name};\n  output: {output_type(tool)};\n}}\n\n",
            comment(words),
            "export const definition = new Definition<Types>({\n",
            text_member("name", tool.name),
            text_member("title", tool.title),
            text_member("description", tool.description),
            texts_member("tags", tool.tags),
            text_member("digest", tool.digest),
            text_member("input", _json(tool.input_schema)),
            "  output: null,\n" if tool.output_schema is None else text_member("output", _json(tool.output_schema)),
            "});\n",
        )
    )


def _json(schema: msgspec.Raw) -> str:
    """The schema on one line, with its numbers as they were written."""
    text = bytes(schema).decode()
    return text if "\n" not in text and "\r" not in text else msgspec.json.format(text, indent=-1)


def _remote(tool: ToolPlan) -> str:
    name = f"{tool.builtin}_" if tool.builtin in KEYWORDS else tool.builtin
    parameters = [f"input: {tool.input.root.name}", "options?: CallOptions"]
    begins = f"export function {name}"
    return "".join(
        (
            comment([f"Calls {string(tool.builtin)} of a running Ferrule: FERRULE_URL and FERRULE_TOKEN name it."]),
            signature(begins, parameters, f"Promise<{output_type(tool)}>"),
            "  return callRemote(definition, input, options);\n}\n\n",
            comment(["The same as a tool for a tool box."]),
            signature(f"export function create{tool.type_name}Tool", [], "Tool"),
            "  return createRemoteTool(definition);\n}\n",
        )
    )
