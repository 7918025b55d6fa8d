"""Go source as text: literals, comments, and whole files with headers and imports.

Names, descriptions and values of definitions come in from here only as literals and comments in characters that can be seen
and cannot do harm, so that no text of theirs can end a literal or a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from textwrap import wrap

import msgspec

from ferrule.contracts.language import SourceFile, ToolPlan
from ferrule.definitions.stubs import comments
from ferrule.definitions.stubs.comments import split_lines
from ferrule.definitions.stubs.languages.go.names import read_support

_WIDTH = 110
"""Where the words of a comment are broken."""
_QUOTES, _BACKTICKS = re.compile("''+"), re.compile("``+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII, _BEYOND_RAW = re.compile("[^ -~]"), re.compile("[^ -_a-~]")
_to_json = json.JSONEncoder(ensure_ascii=False).encode


def quote(text: str) -> str:
    """Writes a string literal. What nobody could see in it is escaped; half of a character is no text in Go."""
    return _BEYOND_ASCII.sub(_escape, _to_json(_SURROGATES.sub("\ufffd", text)))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return found[0] if found[0].isprintable() else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_raw(text: str) -> str:
    """Writes a string literal without escapes, where that is possible."""
    return f"`{text}`" if text.isprintable() and "`" not in text else quote(text)


def quote_json(raw: msgspec.Raw | bytes) -> str:
    """Writes JSON text as a raw literal. What nobody could see is escaped: outside of its strings JSON has no such characters."""
    return f"`{_BEYOND_RAW.sub(_escape_json, bytes(raw).decode())}`"


def _escape_json(found: re.Match[str]) -> str:
    one = found[0]
    if one.isprintable() and one != "`":
        return one
    return " " if one in "\n\r\t" else f"\\u{ord(one):04x}" if one.isascii() else json.dumps(one)[1:-1]


def write_comment(paragraphs: Iterable[str], indent: str = "") -> list[str]:
    """Writes comment lines. Each text may have lines and paragraphs of its own; what gofmt makes of headings, lists, links and
    quotes it finds in a comment is left nothing to work on."""
    made: list[str] = []
    for text in paragraphs:
        for part in _paragraphs(text):
            if made:
                made.append(f"{indent}//")
            made += [f"{indent}// {line}" for line in part]
    return made


def _paragraphs(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in map(one_line, split_lines(text)):
        if line:
            found[-1] += (
                [line] if len(line) <= _WIDTH else wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
            )
        elif found[-1]:
            found.append([])
    return [_settle(part) for part in found if part]


def one_line(text: str) -> str:
    """Makes a text one line that is safe in a comment."""
    plain = comments.one_line(text)
    return _QUOTES.sub('"', _BACKTICKS.sub("`", plain)) if "''" in plain or "``" in plain else plain


def _settle(lines: list[str]) -> list[str]:
    """Returns a paragraph that gofmt takes neither for a heading nor for links."""
    lines = [f"\\{line}" if line.startswith(("[", "+build", "#")) else line for line in lines]
    if len(lines) == 1 and lines[0][-1].isalnum():
        lines[0] += "."
    return lines


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Puts rows of as many cells each in columns, as gofmt does with neighbouring lines of a struct or of constants."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["\t" + " ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def write_struct(name: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Writes a struct whose fields have no comments."""
    if not rows:
        return [f"type {name} struct{{}}", ""]
    return [f"type {name} struct {{", *align_columns(rows), "}", ""]


SHARED = f"// {comments.GENERATED}"


def write_header(tool: ToolPlan) -> str:
    """Writes the first line of a file that is generated for a tool."""
    return f"// {comments.name_source(tool)}"


_STANDARD = {
    name.rpartition("/")[2]: (f'"{name}"', re.compile(rf"\b{name.rpartition('/')[2]}\.[A-Z]"))
    for name in [
        "context",
        "encoding/json",
        "errors",
        "fmt",
        "log/slog",
        "os",
        "regexp",
        "strings",
        "testing",
        "unicode/utf8",
    ]
}
"""The import of each package of Go that stubs use, and what tells that they do."""
_TOLD = re.compile(r'^\s*//.*$|"(?:[^"\\\n]|\\.)*"|`[^`]*`', re.MULTILINE)
"""Comments and literals."""


def write_source(first: str, package: str, lines: list[str], imports: Iterable[str] = ()) -> str:
    """Writes a file. The standard packages that its lines use are imported; `imports` are those of the file's own module."""
    body = "\n".join(lines).rstrip("\n")
    code = _TOLD.sub("", body)
    standard = [path for name, (path, used) in _STANDARD.items() if f"{name}." in code and used.search(code)]
    own = sorted(imports, key=lambda each: each.rpartition(" ")[2])
    start = f"{first}\n\n" if first else ""
    return f"{start}package {package}\n\n{_imports([standard, own])}{body}\n"


def _imports(blocks: list[list[str]]) -> str:
    given = [block for block in blocks if block]
    if not given:
        return ""
    if sum(map(len, given)) == 1:
        return f"import {given[0][0]}\n\n"
    return "import (\n" + "\n".join("".join(f"\t{each}\n" for each in block) for block in given) + ")\n\n"


def copy_support(name: str, folder: str, more: str = "") -> SourceFile:
    """Copies a support file into a package of stubs."""
    text = f"{SHARED}\n\npackage {folder}\n{read_support(name)}{more}"
    return SourceFile(f"{folder}/ferrule_{name}_gen.go", text, "generated")
