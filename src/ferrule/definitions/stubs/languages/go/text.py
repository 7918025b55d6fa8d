"""Go source as text: literals, comments and columns as gofmt would leave them, and whole files with headers and imports.

Names, descriptions and values of definitions come in from here only as literals and comments in characters that can be seen
and cannot do harm, so that no text of theirs can end a literal or a comment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from ferrule.contracts.language import SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.go.names import Support, support

WIDTH = 110
"""Where the words of a comment are broken."""
_PLAIN = re.compile(r'[ !#-\[\]-~]*"?')
_LINE_ENDS = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_QUOTES, _BACKTICKS = re.compile("''+"), re.compile("``+")
_HARMFUL = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def quoted(text: str) -> str:
    """A string literal. What nobody could see in it is escaped."""
    if _PLAIN.fullmatch(text) and '"' not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(one: str) -> str:
    code = ord(one)
    if one in '"\\':
        return f"\\{one}"
    if one.isprintable():
        return one
    if one in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[one]
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"  # half of a character is no text in Go
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_literal(raw: msgspec.Raw | bytes) -> str:
    """JSON text as a raw literal. What nobody could see is escaped: outside of its strings JSON has no such characters."""
    text = bytes(raw).decode()
    if "`" in text or not text.isprintable():
        text = "".join(one if one.isprintable() and one != "`" else _json_escaped(one) for one in text)
    return f"`{text}`"


def _json_escaped(one: str) -> str:
    if one in "\n\r\t":
        return " "
    return "".join(f"\\u{unit:04x}" for unit in _units(ord(one)))


def _units(code: int) -> tuple[int, ...]:
    """The UTF-16 of a character."""
    if code < 0x10000:
        return (code,)
    return (0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF))


def comment(paragraphs: Iterable[str], indent: str = "") -> list[str]:
    """Comment lines. Each text may have lines and paragraphs of its own; what gofmt makes of headings, lists, links and quotes it
    finds in a comment is left nothing to work on."""
    made: list[str] = []
    for text in paragraphs:
        for part in _paragraphs(text):
            if made:
                made.append(f"{indent}//")
            made += [f"{indent}// {line}" for line in part]
    return made


def _paragraphs(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in _LINE_ENDS.split(text):
        plain = one_line(line)
        if plain:
            found[-1] += _wrapped(plain)
        elif found[-1]:
            found.append([])
    return [_settled(part) for part in found if part]


def one_line(text: str) -> str:
    """A text as one line that is safe in a comment."""
    plain = " ".join(text.split())
    if not plain.isascii() or not plain.isprintable():
        plain = "".join(_shown(one) for one in plain)
    return _QUOTES.sub('"', _BACKTICKS.sub("`", plain))


def _shown(one: str) -> str:
    return f"\\u{ord(one):04x}" if unicodedata.category(one) in _HARMFUL else one


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    lines, current = [], ""
    for word in line.split(" "):
        if current and len(current) + len(word) >= WIDTH:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]


def _settled(lines: list[str]) -> list[str]:
    """A paragraph that gofmt takes neither for a heading nor for links."""
    lines = [f"\\{line}" if line.startswith(("[", "+build", "#")) else line for line in lines]
    if len(lines) == 1 and lines[0][-1].isalnum():
        lines[0] += "."
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells with the columns gofmt gives them: a column is as wide as its widest cell in rows that follow one another and
    have a cell after it."""
    if len(rows) == 1:
        return [" ".join(rows[0])]
    widths = [[0] * len(row) for row in rows]
    for column in range(max((len(row) for row in rows), default=1) - 1):
        _set_widths(rows, widths, column)
    return [
        "".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip()
        for row, wide in zip(rows, widths, strict=True)
    ]


def _set_widths(rows: Sequence[Sequence[str]], widths: list[list[int]], column: int) -> None:
    block: list[int] = []
    for number in range(len(rows) + 1):
        if number < len(rows) and len(rows[number]) > column + 1:
            block.append(number)
            continue
        width = max((len(rows[each][column]) for each in block), default=0) + 1
        for each in block:
            widths[each][column] = width
        block = []


SHARED = "// Code generated by ferrule gen. DO NOT EDIT."


def header(tool: ToolPlan) -> str:
    """The first line of a file that is generated for a tool."""
    return f"// Code generated by ferrule gen from {one_line(tool.tool_id)} ({one_line(tool.digest)}). DO NOT EDIT."


def source(
    first: str, package: str, lines: list[str], standard: Iterable[str] = (), imports: Iterable[str] = ()
) -> str:
    """A file. `standard` are paths of Go's own packages, `imports` are imports of the file's own module."""
    while lines and not lines[-1]:
        lines.pop()
    body = "\n".join(lines)
    blocks = [sorted(map(quoted, standard)), sorted(imports, key=lambda each: each.rpartition(" ")[2])]
    start = f"{first}\n\n" if first else ""
    return f"{start}package {package}\n\n{_imports(blocks)}{body}\n"


def _imports(blocks: list[list[str]]) -> str:
    given = [block for block in blocks if block]
    if not given:
        return ""
    if sum(map(len, given)) == 1:
        return f"import {given[0][0]}\n\n"
    return "import (\n" + "\n".join("".join(f"\t{each}\n" for each in block) for block in given) + ")\n\n"


def shared_file(name: str, folder: str) -> SourceFile:
    """A support file in a package of stubs."""
    found: Support = support(name)
    text = f"{SHARED}\n\npackage {folder}\n{found.text}"
    return SourceFile(f"{folder}/ferrule_{name}_gen.go", text, "generated")
