"""Writes the module of one tool's types: classes, and aliases for what is no class."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.contracts.language import ToolNote, ToolPlan
from ferrule.contracts.type_tree import Declaration, RecordType, TypeTree
from ferrule.definitions.stubs import comments
from ferrule.definitions.stubs.comments import name_source, one_line, split_lines
from ferrule.definitions.stubs.languages.python.annotations import PythonAnnotations
from ferrule.definitions.stubs.languages.python.records import write_class
from ferrule.definitions.stubs.languages.python.source_text import (
    keep_line,
    write_comment,
    write_docstring,
    write_import,
    write_words,
)
from ferrule.definitions.stubs.type_walk import names_in, parts_of

GENERATED = f"# {comments.GENERATED}"
_TYPING = ("Annotated", "Any", "Literal", "TypeAlias", "Unpack")


def write_header(tool: ToolPlan) -> str:
    """Returns the first line of a tool's generated file."""
    return f"# {name_source(tool)}"


def write_type_module(
    tool: ToolPlan, flavour: str, more: tuple[set[str], list[str], list[str]]
) -> tuple[str, list[ToolNote]]:
    """Returns the text of the module, and where its types are looser than a reader would expect. `more`: names of
    `typing`, further imports and lines that stand after the types."""
    uses, imports, ends = set(more[0]), more[1], more[2]
    body: list[str] = []
    notes: list[ToolNote] = []
    for tree in (tool.input, tool.output):
        if tree is not None:
            annotations = PythonAnnotations(tree, flavour)
            body += _write_declarations(tree, annotations)
            uses |= annotations.uses
            notes += [ToolNote(tool.tool_id, note) for note in annotations.notes]
    if len(body) > 2 and not body[2].startswith(("class ", "@")):
        body = body[1:]
    lines = [write_header(tool), *write_docstring(_describe_module(tool)), "", "from __future__ import annotations", ""]
    lines += [*_write_imports(uses, imports), *body, *ends]
    return "\n".join(lines) + "\n", notes


def _describe_module(tool: ToolPlan) -> list[str]:
    name = one_line(tool.name) or "the tool"
    about = split_lines(tool.description)
    return [f"What {name} takes and gives.", *(["", *about] if about else [])]


def _write_imports(uses: set[str], imports: list[str]) -> list[str]:
    """Writes the imports that the module uses."""
    standard = write_import("typing", [name for name in _TYPING if name in uses])
    third = ["import msgspec"] if "msgspec" in uses else []
    third += write_import("msgspec", ["UNSET", "UnsetType"] if "UNSET" in uses else [])
    third += write_import("pydantic", [name for name in ("BaseModel", "ConfigDict", "Field") if name in uses])
    third = sorted([*imports, *third], key=lambda line: (not line.startswith("import "), line))
    return [*standard, *([""] if standard and third else []), *third]


def _write_declarations(tree: TypeTree, annotations: PythonAnnotations) -> list[str]:
    lines: list[str] = []
    for each in tree.declarations:
        if isinstance(each, RecordType):
            lines += ["", "", *write_class(each, annotations)]
    aliases = [each for each in tree.declarations if not isinstance(each, RecordType)]
    # An alias is evaluated where it stands, unlike annotations of classes: it can name only what is above it.
    annotations.written = set()
    for each in _sort_aliases(aliases):
        annotations.uses.add("TypeAlias")
        line = keep_line(f"{each.name}: TypeAlias = {annotations.write_target(each)}")
        lines += ["", *([""] if not annotations.written else []), *write_comment(write_words(each.words)), line]
        annotations.written.add(each.name)
    return lines


def _sort_aliases(aliases: Sequence[Declaration]) -> list[Declaration]:
    """Returns each after what it needs, but for those that need themselves."""
    needs = {each.name: {name for part in parts_of(each) for name in names_in(part)} for each in aliases}
    pending, found = list(aliases), list[Declaration]()
    while pending:
        left = {each.name for each in pending}
        ready = [each for each in pending if not needs[each.name] & (left - {each.name})] or pending[:1]
        found += ready
        pending = [each for each in pending if each not in ready]
    return found
