"""Writes the module of one tool's types: classes, and aliases for what is no class."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.contracts.language import ToolNote, ToolPlan
from ferrule.contracts.type_tree import Declaration, RecordType, TypeTree
from ferrule.definitions.stubs import comments
from ferrule.definitions.stubs.comments import name_source, one_line, split_lines
from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.records import class_of
from ferrule.definitions.stubs.languages.python.source_text import (
    comment,
    docstring,
    imported,
    kept,
    told,
)
from ferrule.definitions.stubs.type_walk import names_in, parts_of

GENERATED = f"# {comments.GENERATED}"
_TYPING = ("Annotated", "Any", "Literal", "TypeAlias", "Unpack")


def header(tool: ToolPlan) -> str:
    """The first line of a tool's generated file."""
    return f"# {name_source(tool)}"


def type_module(
    tool: ToolPlan, flavour: str, more: tuple[set[str], list[str], list[str]]
) -> tuple[str, list[ToolNote]]:
    """The text of the module, and where its types are looser than a reader would expect. `more`: names of `typing`, further
    imports and lines that stand after the types."""
    uses, imports, ends = set(more[0]), more[1], more[2]
    body: list[str] = []
    notes: list[ToolNote] = []
    for tree in (tool.input, tool.output):
        if tree is not None:
            annotations = Annotations(tree, flavour)
            body += _declarations(tree, annotations)
            uses |= annotations.uses
            notes += [ToolNote(tool.tool_id, note) for note in annotations.notes]
    if len(body) > 2 and not body[2].startswith(("class ", "@")):
        body = body[1:]
    lines = [header(tool), *docstring(_about(tool)), "", "from __future__ import annotations", ""]
    lines += [*_imports(uses, imports), *body, *ends]
    return "\n".join(lines) + "\n", notes


def _about(tool: ToolPlan) -> list[str]:
    name = one_line(tool.name) or "the tool"
    about = split_lines(tool.description)
    return [f"What {name} takes and gives.", *(["", *about] if about else [])]


def _imports(uses: set[str], imports: list[str]) -> list[str]:
    """Only what the module uses."""
    standard = imported("typing", [name for name in _TYPING if name in uses])
    third = ["import msgspec"] if "msgspec" in uses else []
    third += imported("msgspec", ["UNSET", "UnsetType"] if "UNSET" in uses else [])
    third += imported("pydantic", [name for name in ("BaseModel", "ConfigDict", "Field") if name in uses])
    third = sorted([*imports, *third], key=lambda line: (not line.startswith("import "), line))
    return [*standard, *([""] if standard and third else []), *third]


def _declarations(tree: TypeTree, annotations: Annotations) -> list[str]:
    lines: list[str] = []
    for each in tree.declarations:
        if isinstance(each, RecordType):
            lines += ["", "", *class_of(each, annotations)]
    aliases = [each for each in tree.declarations if not isinstance(each, RecordType)]
    annotations.written = set()
    for each in _in_order(aliases):
        annotations.uses.add("TypeAlias")
        line = kept(f"{each.name}: TypeAlias = {annotations.said(each)}")
        lines += ["", *([""] if not annotations.written else []), *comment(told(each.words)), line]
        annotations.written.add(each.name)
    return lines


def _in_order(aliases: Sequence[Declaration]) -> list[Declaration]:
    """Each after what it needs, but for those that need themselves."""
    needs = {each.name: {name for part in parts_of(each) for name in names_in(part)} for each in aliases}
    pending, found = list(aliases), list[Declaration]()
    while pending:
        left = {each.name for each in pending}
        ready = [each for each in pending if not needs[each.name] & (left - {each.name})] or pending[:1]
        found += ready
        pending = [each for each in pending if each not in ready]
    return found
