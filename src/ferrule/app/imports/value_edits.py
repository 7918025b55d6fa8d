"""Puts single values into a file's text: only lines that hold a changed value change, and comments stay where they are.

New values look as they are written in the file they come from. A value that cannot be placed is refused. The caller verifies
the result by reading it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from ferrule.app.imports.sheet import Sheet, fingerprint
from ferrule.contracts.fix import Edit
from ferrule.model.document import Node
from ferrule.model.value import MISSING, JsonObject, Path, dig

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_MOST_ITEMS = 2_000


class ValueChange(NamedTuple):
    """A value to set at a path; MISSING removes the present one."""

    path: Path
    value: Any


class Tangled(Exception):
    """A value cannot be set without rewriting other lines: an alias, a merge key, a list in a list's line."""


def apply_changes(sheet: Sheet, changes: Sequence[ValueChange], source: Sheet, wanted: JsonObject) -> str:
    """Returns the text with every change applied. `source`: the file with the new values; `wanted`: the value of the result.
    Raises Tangled."""
    edits: list[Edit] = []
    brackets: dict[int, Edit] = {}
    for change in changes:
        around = _find_brackets(sheet, change.path)
        if around is not None:
            node, path = around
            # Brackets are rewritten once as a unit, however many changes they contain.
            brackets[id(node)] = _replace_span(sheet, node, _format_flow(dig(wanted, path)))
        else:
            edits += _build_edits(sheet, change, source)
    return _apply_edits(sheet.text, [*edits, *brackets.values()])


def _find_brackets(sheet: Sheet, path: Path) -> tuple[Node, Path] | None:
    """Returns the outermost list or mapping in brackets that a path leads into."""
    for depth in range(1, len(path)):
        node = sheet.node(path[:depth])
        if node is None:
            raise Tangled(path)
        if sheet.is_flow(node):
            return node, path[:depth]
    return None


def _build_edits(sheet: Sheet, change: ValueChange, source: Sheet) -> Iterable[Edit]:
    path, value = change
    node = sheet.node(path)
    if node is None:
        if dig(sheet.value, path) is not MISSING:
            raise Tangled(path)
        return [_insert_key(sheet, change, source)]
    if value is MISSING:
        return [_remove_node(sheet, node)]
    if isinstance(value, list) and value and isinstance(dig(sheet.value, path), list):
        by_items = _edit_items(sheet, node, change, source)
        if by_items is not None:
            return by_items
    return [_replace_node(sheet, node, change, source)]


def _remove_node(sheet: Sheet, node: Node) -> Edit:
    if not sheet.manuscript.is_block_key(node.opener):
        raise Tangled(node.written)
    return Edit(sheet.manuscript.offset(node.opener.line), sheet.next_line(sheet.end_of(node)), "")


def _replace_node(sheet: Sheet, node: Node, change: ValueChange, source: Sheet) -> Edit:
    theirs = source.node(change.path)
    if theirs is not None and _is_line(sheet, node) and _is_line(source, theirs):
        written = source.manuscript.text_of(theirs.span)
        space = " " if not sheet.manuscript.text_of(node.span) else ""
        return _replace_span(sheet, node, space + written)
    newline = sheet.manuscript.newline
    start, end = sheet.manuscript.offset(node.opener.line, node.opener.column), sheet.end_of(node)
    first, *others = _format_entry(source, change, node.opener.column, newline).split(newline)
    after = sheet.text[end : sheet.next_line(end)].rstrip("\r\n")
    if others and after.lstrip().startswith("#"):  # a comment after one line goes behind the first of several
        first, end = first + after, end + len(after)
    return Edit(start, end, newline.join([first, *others]))


def _replace_span(sheet: Sheet, node: Node, text: str) -> Edit:
    return Edit(sheet.manuscript.offset(node.span.line, node.span.column), sheet.end_of(node), text)


def _is_line(sheet: Sheet, node: Node) -> bool:
    """Returns True for a value of one line, which may have a comment after it."""
    if node.children or node.target is not None or sheet.is_block_text(node):
        return False
    return node.span.line == node.span.end_line == node.opener.line


def _insert_key(sheet: Sheet, change: ValueChange, source: Sheet) -> Edit:
    """Inserts a new key after the one it follows in the source, or after the last one."""
    around = sheet.node(change.path[:-1]) if len(change.path) > 1 else sheet.places.root
    if around is None or around.target is not None:
        raise Tangled(change.path)
    here = {key: node for key in around.children if (node := sheet.node((*change.path[:-1], key))) is not None}
    # Without a sibling, the indentation of a new key is unknown.
    if not here:
        raise Tangled(change.path)
    siblings = dig(source.value, change.path[:-1])
    names: list[str | int] = list(siblings) if isinstance(siblings, dict) else []
    before = names[: names.index(change.path[-1])] if change.path[-1] in names else []
    anchor = next((here[key] for key in reversed(before) if key in here), None)
    if anchor is None:
        anchor = max(here.values(), key=lambda node: node.opener)
    column = anchor.opener.column
    at = _skip_comments(sheet, sheet.next_line(sheet.end_of(anchor)), column - 1)
    newline = sheet.manuscript.newline
    return Edit(at, at, " " * (column - 1) + _format_entry(source, change, column, newline) + newline)


def _skip_comments(sheet: Sheet, offset: int, indent: int) -> int:
    """Skips comments that are indented further than a key: they describe the lines above them."""
    while offset < len(sheet.text):
        line = sheet.text[offset : sheet.next_line(offset)]
        content = line.lstrip(" ")
        if not content.startswith("#") or len(line) - len(content) <= indent:
            break
        offset = sheet.next_line(offset)
    return offset


def _edit_items(sheet: Sheet, node: Node, change: ValueChange, source: Sheet) -> list[Edit] | None:
    """Returns the edits of a list item by item, so unchanged items keep their lines; None when it is no block list."""
    nodes = [sheet.node((*change.path, number)) for number in range(len(node.children))]
    if not nodes or sheet.is_flow(node) or node.target is not None or len(nodes) + len(change.value) > _MOST_ITEMS:
        return None
    items = [each for each in nodes if each is not None and sheet.manuscript.is_block_key(each.opener)]
    if len(items) != len(nodes):
        return None
    before = [fingerprint(item) for item in dig(sheet.value, change.path)]  # type: ignore[union-attr]
    after = [fingerprint(item) for item in change.value]
    column, newline = items[0].opener.column, sheet.manuscript.newline
    edits: list[Edit] = []
    for what, start, end, there, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what in ("delete", "replace"):
            edits += [_remove_node(sheet, item) for item in items[start:end]]
        if what in ("insert", "replace"):
            last = items[max(start, end - 1)] if what == "replace" else items[start - 1] if start else None
            first = sheet.manuscript.offset(items[0].opener.line)
            at = first if last is None else sheet.next_line(sheet.end_of(last))
            new = (ValueChange((*change.path, number), change.value[number]) for number in range(there, until))
            text = "".join(" " * (column - 1) + _format_entry(source, one, column, newline) + newline for one in new)
            edits.append(Edit(at, at, text))
    return edits


def _format_entry(source: Sheet, change: ValueChange, column: int, newline: str) -> str:
    """Returns a key or an item with its value, starting in a column: as written in the source, or on one line."""
    node = source.node(change.path)
    step = change.path[-1]
    if node is None or _is_in_brackets(source, change.path):
        return (
            f"- {_format_flow(change.value)}"
            if isinstance(step, int)
            else f"{_format_key(step)}: {_format_flow(change.value)}"
        )
    start = source.manuscript.offset(node.opener.line, node.opener.column)
    first, *others = source.text[start : source.end_of(node)].replace("\r\n", "\n").split("\n")
    shift = column - node.opener.column
    return newline.join([first, *(_shift_line(line, shift) for line in others)])


def _is_in_brackets(sheet: Sheet, path: Path) -> bool:
    return any((node := sheet.node(path[:depth])) is None or sheet.is_flow(node) for depth in range(1, len(path)))


def _shift_line(line: str, by: int) -> str:
    if not line.strip():
        return line
    if by >= 0:
        return " " * by + line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def _format_key(key: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS
    return key if is_plain else json.dumps(key, ensure_ascii=False)


def _format_flow(value: object) -> str:
    """Returns a value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_format_key(key)}: {_format_flow(member)}" for key, member in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_format_flow, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Applies edits that do not overlap; edits at one offset keep their order."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise Tangled(())
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
