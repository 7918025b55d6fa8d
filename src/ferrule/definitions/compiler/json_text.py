"""Reads JSON text to values, and scans it for places only when somebody asks where something is."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from ferrule.definitions.compiler.scalars import FIRST_COUNTS, MAX_DEPTH, MAX_DIGITS, Composed, Unparsable
from ferrule.model.document import Issue, Node, Places, Span
from ferrule.model.value import JsonObject, JsonValue

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_HALF_CHARACTER = re.compile(
    r"""(?<!\\)(?:\\\\)*(?P<half>\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2}\\u)d[c-f][0-9a-f]{2}))""",
    re.IGNORECASE,
)
_NEWLINE = re.compile("\n")
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
"""Strings and brackets. A string that is never closed goes to the end, so that no text takes more than one pass."""
_AFTER_COMMA = re.compile(r"[ \t\n\r]*")
_HINTS = (
    ("Expecting ',' delimiter", "a comma or a closing bracket is missing before this"),
    ("Extra data", "a file holds one JSON value; put several definitions in a list"),
    ("Unterminated string", "close the quotes"),
)
_INFINITY = float("inf")


class _RefusedNumber(Exception):
    """A number that cannot be used."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class _Members:
    """Makes objects from their members, and notices a name that occurs twice; the scanner finds where."""

    def __init__(self) -> None:
        self.has_repeated = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> JsonObject:
        members = dict(pairs)
        if len(members) != len(pairs):
            self.has_repeated = True
        return members


def load(text: str) -> tuple[JsonValue, tuple[Issue, ...]]:
    """Returns the value of a JSON text and the issues of the reader. Raises Unparsable."""
    members = _Members()
    try:
        value = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
            parse_float=_parse_float,
        )
    except _RefusedNumber as refused:
        line, column = _find_position(text, _find_offset(text, refused.word))
        raise Unparsable(str(refused), line, column, "write a number that fits, or a string") from None
    except json.JSONDecodeError as error:
        refuse_deep(text[: error.pos])  # how deep the reader itself goes differs between interpreters
        error = _unify_error(text, error)
        raise Unparsable(f"not valid JSON: {error.msg}", error.lineno, error.colno, _advise(text, error)) from None
    except RecursionError:
        refuse_deep(text)
        raise Unparsable(f"nested more than {MAX_DEPTH} levels deep", 1) from None
    # A repeated name may have thrown the deep part away, and the scanner below recurses through the text.
    if _is_deeper_than(value, MAX_DEPTH) or members.has_repeated:
        refuse_deep(text)
    if "\\u" in text:
        refuse_half_characters(text)
    if members.has_repeated:  # now it is certain that the scanner can read the rest
        composed = compose(text)
        return composed.value, composed.issues
    return value, ()


def _refuse_constant(word: str) -> None:
    raise _RefusedNumber(word, f"{word} is not JSON")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _RefusedNumber(digits, f"a number of {len(digits)} digits cannot be used")
    return int(digits)


def _parse_float(text: str) -> float:
    value = float(text)
    if value in (_INFINITY, -_INFINITY):
        raise _RefusedNumber(text, f"{text[:40]} is too large for a number")
    return value


def _unify_error(text: str, error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Returns the error as every supported Python reports it: from 3.13 on, a trailing comma has words and a place
    of its own."""
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    blank = _AFTER_COMMA.match(text, error.pos + 1)
    at = blank.end() if blank is not None else error.pos
    is_list = text[at : at + 1] == "]"
    return json.JSONDecodeError(
        "Expecting value" if is_list else "Expecting property name enclosed in double quotes", text, at
    )


def _advise(text: str, error: json.JSONDecodeError) -> str | None:
    at = error.pos
    if text.startswith(("//", "/*", "#"), at):
        return "JSON has no comments; remove it"
    if text[at : at + 1] == "'":
        return "put it in double quotes"
    if text[at : at + 1] in ("}", "]", ",") and text[:at].rstrip().endswith(","):
        return "remove the comma before it"
    return next((hint for words, hint in _HINTS if error.msg.startswith(words)), None)


def _find_offset(text: str, word: str) -> int:
    return next((token.start() for token in _TOKEN.finditer(text) if token[0] == word), 0)


def _is_deeper_than(value: Any, limit: int) -> bool:
    # Level by level, not by recursion: the value may be as deep as the reader's own stack allows.
    level = [value]
    for _ in range(limit + 1):
        level = (
            [
                child
                for item in level
                for child in (item.values() if isinstance(item, dict) else item)
                if isinstance(child, dict | list)
            ]
            if level and isinstance(level[0], dict | list)
            else []
        )
        if not level:
            return False
    return True


def refuse_deep(text: str) -> None:
    """Raises Unparsable where the nesting passes the limit, if it does."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        token = match[0]
        if token in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                line, column = _find_position(text, match.start())
                raise Unparsable(f"nested more than {MAX_DEPTH} levels deep", line, column, "flatten the definition")
        elif token in "}]":
            depth -= 1


def refuse_half_characters(text: str) -> None:
    """Raises Unparsable at an escape that writes half of a surrogate pair: no other format can carry it."""
    match = _HALF_CHARACTER.search(text)
    if match is not None:
        line, column = _find_position(text, match.start("half"))
        raise Unparsable(f"{match['half']} is half of a surrogate pair, not a character", line, column)


def _find_position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class _Scan:
    """One pass over the tokens of a valid JSON text. Places are worked out for keys and values only."""

    def __init__(self, text: str) -> None:
        self.next = _TOKEN.finditer(text).__next__
        self.starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
        self.issues: list[Issue] = []

    def make_span(self, token: re.Match[str]) -> Span:
        """Returns the place of a token."""
        start, end = token.span()
        line = bisect_right(self.starts, start)
        column = start - self.starts[line - 1] + 1
        return Span(line, column, line, column + end - start)


def compose(text: str) -> Composed:
    """Returns values and places of a JSON text that `json.loads` accepts, at most MAX_DEPTH deep."""
    scan = _Scan(text)
    value, node = _compose_value(scan, scan.next(), Span(1, 1, 1, 1), ())
    return Composed(value, Places(node), tuple(scan.issues), 1)


def _compose_value(
    scan: _Scan, token: re.Match[str], opener: Span | None, path: tuple[str | int, ...]
) -> tuple[JsonValue, Node]:
    span = scan.make_span(token)
    node = Node(span, opener or span, path)
    text = token[0]
    if text == "{":
        return _compose_object(scan, node), node
    if text == "[":
        return _compose_array(scan, node), node
    return _parse_scalar(text), node


def _parse_scalar(text: str) -> Any:
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]
    return json.loads(text)


def _compose_object(scan: _Scan, node: Node) -> JsonObject:
    members: JsonObject = {}
    token = scan.next()
    while (text := token[0]) != "}":
        if text == ",":
            token = scan.next()
            text = token[0]
        key, key_span = _parse_scalar(text), scan.make_span(token)
        scan.next()  # the colon
        path = (*node.written, key)
        known = len(scan.issues)
        value, child = _compose_value(scan, scan.next(), key_span, path)
        if key in members:
            del scan.issues[known:]  # they are inside the value that is left out now
            message = f"the member {key!r} is written twice"
            scan.issues.append(Issue("duplicate_key", message, key_span.line, key_span.column, path, FIRST_COUNTS))
        else:
            members[key] = value
            node.children[key] = child
        token = scan.next()
    _extend_span(node, scan.make_span(token))
    return members


def _compose_array(scan: _Scan, node: Node) -> list[JsonValue]:
    items: list[JsonValue] = []
    token = scan.next()
    while token[0] != "]":
        if token[0] == ",":
            token = scan.next()
        value, child = _compose_value(scan, token, None, (*node.written, len(items)))
        node.children[len(items)] = child
        items.append(value)
        token = scan.next()
    _extend_span(node, scan.make_span(token))
    return items


def _extend_span(node: Node, last: Span) -> None:
    node.span = node.span._replace(end_line=last.end_line, end_column=last.end_column)
