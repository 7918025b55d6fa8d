"""Renames, wraps, adds, drops and moves members of a mapping in JSON and in YAML's blocks and flows, for all fixes.

It keeps the writer's layout: it copies separators, indentation and line ends from the members around. Where these are
uncertain (a comment inside a flow, a block that would have to enter a flow) it returns None, and nothing is changed.
"""

from __future__ import annotations

import json
import re

from ferrule.contracts.fix import Edit, Manuscript
from ferrule.model.document import Node
from ferrule.model.value import Path

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_COLON = re.compile(r"[ \t]*:[ \t]*")
_DASHES = re.compile(r"[ ]*(?:-[ ]+)*")


def rename_member(manuscript: Manuscript, path: Path, key: str) -> Edit | None:
    """Gives a member another key, in the quotes the old one has."""
    node = manuscript.node(path)
    if node is None:
        return None
    if manuscript.is_json:
        return manuscript.replace(node.opener, json.dumps(key))
    return manuscript.reword(node.opener, key)


def wrap_mapping(manuscript: Manuscript, path: Path, key: str) -> Edit | None:
    """Makes a mapping the one member of a new mapping that stands in its place."""
    node = manuscript.node(path)
    if node is None:
        return None
    text = manuscript.text_of(node.span)
    if text[:1] in ("{", "["):
        return manuscript.replace(node.span, _wrap_flow(manuscript, node, text, key))
    first = min(node.children.values(), key=lambda child: child.opener, default=None)
    if (
        manuscript.is_json
        or first is None
        or not _begins_line(manuscript, node)
        or first.opener.line <= node.opener.line
    ):
        return None
    lines = manuscript.extent(node)
    inner = manuscript.text[manuscript.offset(node.opener.line + 1) : manuscript.offset(lines.end)]
    opening = f"{' ' * (first.opener.column - 1)}{key}:{manuscript.newline}"
    shifted = opening + manuscript.indent(inner, manuscript.step)
    return Edit(manuscript.offset(node.opener.line + 1), manuscript.offset(lines.end), shifted)


def _wrap_flow(manuscript: Manuscript, node: Node, text: str, key: str) -> str:
    colon = _find_colon(manuscript, node)
    name = _format_key(manuscript, key)
    outer, inner = _find_last_indent(text), _find_first_indent(manuscript, node)
    if outer is None or inner is None or not inner.startswith(outer) or inner == outer:
        return f"{{{name}{colon}{text}}}"
    newline = manuscript.newline
    shifted = _shift_lines(text, inner.removeprefix(outer))
    return f"{{{newline}{inner}{name}{colon}{shifted}{newline}{outer}}}"


def _find_last_indent(text: str) -> str | None:
    """Returns the indentation of the closing bracket of a flow over several lines."""
    line = text.rpartition("\n")[2] if "\n" in text else None
    return line[:-1] if line is not None and not line[:-1].strip(" \t") else None


def _find_first_indent(manuscript: Manuscript, node: Node) -> str | None:
    """Returns the indentation of the first member of a flow, when it begins a line."""
    if not node.children:
        return None
    first = min(child.opener for child in node.children.values())
    before = manuscript.text_before(first)
    return before if first.line > node.span.line and not before.strip(" \t") else None


def add_member(manuscript: Manuscript, path: Path, key: str, value: object, after: tuple[str, ...] = ()) -> Edit | None:
    """Puts a small member into a mapping: behind the last of `after` that is there, else at the end."""
    return _insert_member(manuscript, path, _format_key(manuscript, key), _format_value(manuscript, value), after)


def _insert_member(
    manuscript: Manuscript, path: Path, name: str, text: str, after: tuple[str, ...] = ()
) -> Edit | None:
    holder = manuscript.node(path)
    if holder is None:
        return None
    is_flow = manuscript.text_of(holder.span)[:1] == "{"
    # Without those of a merge key, which are written elsewhere.
    members = {key: child for key, child in holder.children.items() if child.written == (*path, key)}
    if not members:
        return _insert_first(manuscript, holder, name, text) if is_flow else None
    known = [members[key] for key in after if key in members]
    node = max(known or members.values(), key=lambda child: child.span)
    if is_flow:
        at = manuscript.offset(node.span.end_line, node.span.end_column)
        separator = _find_separator(manuscript, holder, list(members.values()))
        return None if separator is None else Edit(at, at, f"{separator}{name}{_find_colon(manuscript, node)}{text}")
    if not _begins_line(manuscript, node):
        return None
    line = f"{' ' * (node.opener.column - 1)}{name}: {text}"
    at = manuscript.offset(manuscript.extent(node).end)
    # A file may end without a line break; then the break belongs before the new line, not after it.
    if at == len(manuscript.text) and not manuscript.text.endswith("\n"):
        return Edit(at, at, f"{manuscript.newline}{line}")
    return Edit(at, at, f"{line}{manuscript.newline}")


def _insert_first(manuscript: Manuscript, holder: Node, name: str, text: str) -> Edit | None:
    if manuscript.text_of(holder.span)[1:-1].strip():
        return None
    return manuscript.replace(holder.span, f"{{{name}: {text}}}")


def drop_member(manuscript: Manuscript, path: Path) -> Edit | None:
    """Takes a member out of a mapping that has others."""
    node, holder = manuscript.node(path), manuscript.node(path[:-1])
    if node is None or holder is None:
        return None
    members = sorted((child for child in holder.children.values() if child.written[:-1] == path[:-1]), key=_position_of)
    # Without its only member, a block would read back as null instead of an empty mapping.
    if len(members) < 2:
        return None
    if manuscript.text_of(holder.span)[:1] != "{":
        lines = manuscript.lines_of(node)
        return None if lines is None else manuscript.remove_lines(lines)
    index = members.index(node)
    if index + 1 < len(members):
        start, end = manuscript.offset(*node.opener[:2]), manuscript.offset(*members[index + 1].opener[:2])
        gap = manuscript.text[manuscript.offset(*node.span[2:]) : end]
    else:
        start, end = manuscript.offset(*members[index - 1].span[2:]), manuscript.offset(*node.span[2:])
        gap = manuscript.text[start : manuscript.offset(*node.opener[:2])]
    return Edit(start, end, "") if gap.strip() == "," else None


def move_member(manuscript: Manuscript, path: Path, into: str) -> tuple[Edit, ...] | None:
    """Puts a member, as it is written, into a mapping beside it; makes that mapping in its place when it is not there."""
    beside = (*path[:-1], into)
    if manuscript.node(beside) is None:
        wrapping = wrap_mapping(manuscript, path, str(path[-1])) or _wrap_scalar(manuscript, path)
        renaming = rename_member(manuscript, path, into)
        return (renaming, wrapping) if renaming is not None and wrapping is not None else None
    edits = (drop_member(manuscript, path), _transplant_member(manuscript, path, beside))
    return edits if None not in edits else None  # type: ignore[return-value]  # none of them is None


def _wrap_scalar(manuscript: Manuscript, path: Path) -> Edit | None:
    node = manuscript.node(path)
    if node is None or node.children or node.span.line != node.opener.line or node.span.line != node.span.end_line:
        return None
    text = f"{{{_format_key(manuscript, str(path[-1]))}: {manuscript.text_of(node.span)}}}"
    return manuscript.replace(node.span, text)


def _transplant_member(manuscript: Manuscript, path: Path, beside: Path) -> Edit | None:
    node, target = manuscript.node(path), manuscript.node(beside)
    if node is None or target is None:
        return None
    is_flow = manuscript.text_of(target.span)[:1] == "{"
    lines = None if manuscript.is_json else manuscript.lines_of(node)
    if is_flow:
        text = manuscript.text_of(node.span)
        is_whole = manuscript.is_json or ("\n" not in text and text[:1] in ("{", "[", '"', "'"))
        inner = _find_first_indent(manuscript, target) or ""
        outer = manuscript.text_before(node.opener)
        if inner.startswith(outer) and not outer.strip(" \t"):
            text = _shift_lines(text, inner.removeprefix(outer))
        name = manuscript.text_of(node.opener)
        return _insert_member(manuscript, beside, name, text) if is_whole else None
    children = [child for child in target.children.values() if _begins_line(manuscript, child)]
    if lines is None or len(children) != len(target.children) or not children:
        return None
    last = max(children, key=_position_of)
    block = manuscript.indent(manuscript.text_of_lines(lines), last.opener.column - node.opener.column)
    at = manuscript.offset(manuscript.extent(last).end)
    # Lines are only ever moved to the right.
    if last.opener.column <= node.opener.column or (at and manuscript.text[at - 1] != "\n"):
        return None
    return Edit(at, at, block)


def _position_of(node: Node) -> tuple[int, int]:
    return node.opener.line, node.opener.column


def _begins_line(manuscript: Manuscript, node: Node) -> bool:
    """Returns True for a key of a block, also behind the `-` of a list item."""
    return not manuscript.is_json and _DASHES.fullmatch(manuscript.text_before(node.opener)) is not None


def _find_separator(manuscript: Manuscript, holder: Node, members: list[Node]) -> str | None:
    """Returns the text between two members of a flow: as between the last two, or as before the only one."""
    members.sort(key=_position_of)
    if len(members) > 1:
        one, other = members[-2:]
        text = manuscript.text[manuscript.offset(*one.span[2:]) : manuscript.offset(*other.opener[:2])]
        return text if text.strip() == "," else None
    indent = _find_first_indent(manuscript, holder)
    return ", " if indent is None else f",{manuscript.newline}{indent}"


def _find_colon(manuscript: Manuscript, node: Node) -> str:
    """Returns the text between this member's key and its value, when that is only a colon and spaces."""
    text = manuscript.text[manuscript.offset(*node.opener[2:]) : manuscript.offset(*node.span[:2])]
    # JSON allows `"a":1`; in YAML `a:1` is a text.
    return text if _PLAIN_COLON.fullmatch(text) and (manuscript.is_json or text.endswith(" ")) else ": "


def _shift_lines(text: str, by: str) -> str:
    """Returns every line after the first moved to the right, unless it is blank."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(by + line if line.strip() else line for line in rest)])


def _format_key(manuscript: Manuscript, key: str) -> str:
    return json.dumps(key) if manuscript.is_json or not _PLAIN_KEY.fullmatch(key) else key


def _format_value(manuscript: Manuscript, value: object) -> str:
    """Returns a small value on one line: JSON, or YAML's flow without quotes around keys."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{_format_key(manuscript, key)}: {_format_value(manuscript, item)}" for key, item in value.items()
            )
            + "}"
        )
    return json.dumps(value, ensure_ascii=False)
