"""Composes values and places of YAML text from libyaml's events. Nothing here recurses, and every bound is checked
while reading.

Duplicate keys keep the first value; merge keys are honoured; a mapping key is its text; aliases share one value, so
their total expanded size is bounded; an alias inside its own anchor is cut and reported.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

from ferrule.definitions.compiler.scalars import (
    FIRST_COUNTS,
    MAX_DEPTH,
    Composed,
    Unparsable,
    UnusableNumber,
    parse_plain,
)
from ferrule.model.document import Issue, Node, Places, Span
from ferrule.model.value import JsonValue

MAX_NODES = 200_000
"""Nodes after aliases are expanded."""

_ODD_BREAK = re.compile("[\x85\u2028\u2029]|\r(?!\n)")
"""Breaks that libyaml counts as lines and editors do not."""
_HINTS = (
    (
        "values are not allowed",
        "quote the value above if it holds a colon and a space, or mend this line's indentation",
    ),
    ("<document start>", "write one mapping, and nothing after `...`"),
    ("quoted scalar", "close the quotes, and double those that belong to the text"),
    ("cannot start any token", "put the value in quotes"),
    ("flow", "close the bracket or brace, or quote the value if it is meant as text"),
    ("expected ':'", "write every field as `key: value`, and indent text that runs on"),
    ("block", "begin this line in the same column as the fields beside it"),
)
"""The hint for each kind of parser complaint; the first whose words occur in it."""
_STR, _INT, _FLOAT, _BOOL, _NULL = (f"tag:yaml.org,2002:{word}" for word in ("str", "int", "float", "bool", "null"))


class _Frame:
    """A container being filled."""

    __slots__ = ("anchor", "is_mapping", "is_merge", "key", "key_span", "merges", "node", "size", "value")

    def __init__(self, value: Any, node: Node, is_mapping: bool, anchor: str | None) -> None:
        self.value = value
        self.node = node
        self.is_mapping = is_mapping
        self.anchor = anchor
        self.key: str | None = None
        self.key_span: Span | None = None
        self.is_merge = False
        """True for the key `<<` without quotes; in quotes it is a key like any other."""
        self.merges: list[tuple[Any, Node]] = []
        self.size = 1


class _Anchored(NamedTuple):
    value: Any
    node: Node
    size: int


def compose_all(text: str, first_line: int = 1) -> list[Composed]:
    """Composes every document of a YAML stream. Raises Unparsable for text that is not usable YAML."""
    try:
        return _Composer(text, first_line).compose_stream()
    except yaml.reader.ReaderError as error:
        line, column = _find_line(text, error.position)
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        raise Unparsable(message, line + first_line - 1, column, "remove it, or write it as an escape") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        if mark and _ODD_BREAK.search(text):
            line, column = _find_line(text, mark.index)
        raise Unparsable(
            _explain(error, text, line - 1), line + first_line - 1, column, _advise(error, text, line - 1)
        ) from None
    except UnicodeEncodeError as error:
        line, column = _find_line(text, error.start)
        raise Unparsable("half of a surrogate pair is not a character", line + first_line - 1, column) from None


def _find_line(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, position - before.rfind("\n")


def _explain(error: yaml.MarkedYAMLError, text: str, line_index: int) -> str:
    problem = error.problem or "cannot be parsed"
    context = f" {error.context}" if error.context else ""
    if _has_tab(text, line_index):
        return "a tab is used for indentation, which YAML does not allow"
    return f"not valid YAML: {problem}{context}".replace(
        "found character that cannot start any token", "unexpected character"
    )


def _advise(error: yaml.MarkedYAMLError, text: str, line_index: int) -> str | None:
    if _has_tab(text, line_index):
        return "indent with spaces"
    complaint = f"{error.problem} {error.context}"
    return next((hint for words, hint in _HINTS if words in complaint), None)


def _has_tab(text: str, line_index: int) -> bool:
    lines = text.split("\n")
    line = lines[line_index] if 0 <= line_index < len(lines) else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


class _Composer:
    def __init__(self, text: str, first_line: int) -> None:
        self.parser: Any = CParser(text)
        self.offset = first_line
        self.lines = text.split("\n")
        self.starts = _find_line_starts(text) if _ODD_BREAK.search(text) else None
        self.stack: list[_Frame] = []
        self.issues: list[Issue] = []
        self.anchors: dict[str, _Anchored] = {}
        self.nodes = 0
        self.root: tuple[JsonValue, Node] | None = None

    def compose_stream(self) -> list[Composed]:
        documents: list[Composed] = []
        start = self.offset
        next_event = self.parser.get_event
        handlers = {
            yaml.ScalarEvent: self.add_scalar,
            yaml.MappingStartEvent: self.open_mapping,
            yaml.SequenceStartEvent: self.open_sequence,
            yaml.MappingEndEvent: self.close,
            yaml.SequenceEndEvent: self.close,
            yaml.AliasEvent: self.add_alias,
        }
        while (event := next_event()) is not None:
            handler = handlers.get(event.__class__)
            if handler is not None:
                handler(event)
            elif event.__class__ is yaml.DocumentStartEvent:
                start = self.make_span(event).line
                self.root, self.issues, self.anchors = None, [], {}
            elif event.__class__ is yaml.DocumentEndEvent:
                documents.append(self.finish_document(start))
        return documents

    def finish_document(self, start: int) -> Composed:
        if self.root is None:
            empty = Span(start, 1, start, 1)
            self.root = (None, Node(empty, empty, ()))
        value, node = self.root
        return Composed(value, Places(node), tuple(self.issues), start)

    # -- events

    def add_scalar(self, event: Any) -> None:
        span = self.make_span(event)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.is_mapping and frame.key is None:
            self.take_key(frame, event, span)
            return
        try:
            value = _parse_scalar(event)
        except UnusableNumber as error:
            raise Unparsable(str(error), span.line, span.column, "quote it if it is meant as text") from None
        self.add(value, self.make_node(span), event.anchor, 1)

    def open_mapping(self, event: Any) -> None:
        self.open(event, {}, is_mapping=True)

    def open_sequence(self, event: Any) -> None:
        self.open(event, [], is_mapping=False)

    def open(self, event: Any, value: Any, *, is_mapping: bool) -> None:
        span = self.make_span(event)
        self.refuse_key(span)
        if len(self.stack) >= MAX_DEPTH:
            raise Unparsable(
                f"nested more than {MAX_DEPTH} levels deep", span.line, span.column, "flatten the definition"
            )
        self.stack.append(_Frame(value, self.make_node(span), is_mapping, event.anchor))

    def close(self, event: Any) -> None:
        frame = self.stack.pop()
        end = self.make_span(event)
        frame.node.span = frame.node.span._replace(end_line=end.end_line, end_column=end.end_column)
        # Merged last: a key of the mapping itself wins over a merged one, wherever it is written.
        for value, node in frame.merges:
            for key, member in value.items():
                if key not in frame.value:
                    frame.value[key] = member
                    if (child := node.children.get(key)) is not None:
                        frame.node.children[key] = child
        self.add(frame.value, frame.node, frame.anchor, frame.size)

    def add_alias(self, event: Any) -> None:
        span = self.make_span(event)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.is_mapping and frame.key is None:
            anchored = self.anchors.get(event.anchor)
            if anchored is None or isinstance(anchored.value, dict | list):
                raise Unparsable("a mapping key must be plain text", span.line, span.column)
            self.take_key(frame, None, span, str(anchored.value))
            return
        # A value that contains itself could be neither walked nor written as JSON.
        if any(open_frame.anchor == event.anchor for open_frame in self.stack):
            node = self.make_node(span)
            self.issues.append(
                Issue(
                    "recursion",
                    f"the alias *{event.anchor} contains itself",
                    node.opener.line,
                    node.opener.column,
                    node.written,
                )
            )
            self.add(None, node, None, 1)
            return
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            raise Unparsable(f"the alias *{event.anchor} has no anchor before it", span.line, span.column)
        node = self.make_node(span)
        # Findings below the alias have their place where the anchor is written.
        node.target = anchored.node.target or anchored.node
        node.children = node.target.children
        self.add(anchored.value, node, None, anchored.size)

    # -- putting values where they belong

    def take_key(self, frame: _Frame, event: Any, span: Span, text: str | None = None) -> None:
        frame.key = event.value if text is None else text
        frame.is_merge = text is None and event.value == "<<" and not event.style
        frame.key_span = span
        if text is None and event.anchor:
            self.anchors[event.anchor] = _Anchored(event.value, frame.node, 1)

    def refuse_key(self, span: Span) -> None:
        if self.stack and self.stack[-1].is_mapping and self.stack[-1].key is None:
            raise Unparsable("a mapping key must be plain text, not a list or a mapping", span.line, span.column)

    def add(self, value: Any, node: Node, anchor: str | None, size: int) -> None:
        if anchor:
            self.anchors[anchor] = _Anchored(value, node, size)
        self.nodes += 1
        if not self.stack:
            self.root = (value, node)
            return
        frame = self.stack[-1]
        frame.size += size
        # `nodes` counts what is written, `size` what its aliases stand for.
        if frame.size > MAX_NODES or self.nodes > MAX_NODES:
            line = node.span.line
            raise Unparsable(
                f"expands to more than {MAX_NODES:,} values", line, 1, "use fewer or smaller aliases, or split the file"
            )
        if frame.is_mapping:
            self.add_member(frame, value, node)
        else:
            frame.node.children[len(frame.value)] = node
            frame.value.append(value)

    def add_member(self, frame: _Frame, value: Any, node: Node) -> None:
        key, span = frame.key, frame.key_span
        frame.key = None
        assert key is not None and span is not None
        if frame.is_merge and (merged := _list_merged(value, node)) is not None:
            frame.merges.extend(merged)
        elif key in frame.value:
            path = (*frame.node.written, key)
            while self.issues and (self.issues[-1].line, self.issues[-1].column) > span[:2]:
                self.issues.pop()  # it is inside the value that is left out now
            message = f"the key {key!r} is written twice"
            self.issues.append(Issue("duplicate_key", message, span.line, span.column, path, FIRST_COUNTS))
        else:
            frame.value[key] = value
            frame.node.children[key] = node

    def make_node(self, span: Span) -> Node:
        if not self.stack:
            return Node(span, Span(self.offset, 1, self.offset, 1), ())
        frame = self.stack[-1]
        if frame.is_mapping:
            assert frame.key is not None and frame.key_span is not None
            return Node(span, frame.key_span, (*frame.node.written, frame.key))
        return Node(span, self.find_dash(span), (*frame.node.written, len(frame.value)))

    def find_dash(self, span: Span) -> Span:
        """Finds the `-` of a block list item; returns the item's own span in a flow list."""
        for line in range(span.line, 0, -1):
            text = self.lines[line - self.offset] if line >= self.offset else ""
            before = text[: span.column - 1] if line == span.line else text
            at = before.rfind("-") if line == span.line else len(text) - len(text.lstrip())
            if at >= 0 and before[at : at + 1] == "-" and before[at + 1 : at + 2] in ("", " ", "\t", "\r"):
                return Span(line, at + 1, line, at + 2)
            if before.strip() and not before.lstrip().startswith("#"):
                break
        return span

    def make_span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        if self.starts is not None:
            return Span(*self.find_line(start.index), *self.find_line(end.index))
        return Span(start.line + self.offset, start.column + 1, end.line + self.offset, end.column + 1)

    def find_line(self, index: int) -> tuple[int, int]:
        assert self.starts is not None
        line = bisect_right(self.starts, index)
        return line - 1 + self.offset, index - self.starts[line - 1] + 1


def _find_line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _list_merged(value: object, node: Node) -> list[tuple[JsonValue, Node]] | None:
    if isinstance(value, dict):
        return [(value, node)]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [(item, node.children[index]) for index, item in enumerate(value)]
    return None


def _parse_scalar(event: Any) -> JsonValue:
    tag, text = event.tag, event.value
    if tag is None or tag == "!":
        return parse_plain(text) if event.implicit[0] and not event.style else str(text)
    if tag == _STR:
        return str(text)
    if tag in (_INT, _FLOAT, _BOOL, _NULL):
        value = parse_plain(text)
        if tag == _FLOAT and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value
    return str(text) if event.style else parse_plain(text)
