"""Writes names and words of definitions as TypeScript: literals, comments and members that nothing can get out of.

Lines keep to the width that Prettier takes where that is simple; any other line says `prettier-ignore` for itself.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs import comments
from ferrule.definitions.stubs.comments import split_lines
from ferrule.definitions.stubs.identifiers import Style, camel, pascal
from ferrule.model.value import JsonValue

WIDTH = 80
_IGNORE = "// prettier-ignore\n"
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Kinds of characters that a reader does not see, or that turn the text around."""
_ODD_NAME = re.compile(r"""\s*["'][^:]*[^ -~]""")
_EXPONENT = re.compile(r"e\+?(-?)0*")
_TAG = re.compile(r"(^|[\s{*])@")
_CONTAINERS = (dict, list)
_BRIEF = 60
"""Objects up to this column are written on one line, so that a name fits before them."""
_SHORT = 5
"""Prettier keeps a long text on the line of a member whose name is shorter than this."""
_WORDS = """
    abstract any arguments as async await bigint boolean break case catch class const constructor continue debugger declare
    default delete do else enum eval export extends false finally for from function get if implements import in instanceof
    interface let never new null number object of package private protected public return set static string super switch
    symbol this throw true try type typeof undefined unknown var void while with yield NaN Infinity globalThis
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that are no names of variables, or had better not be."""
SHARED = f"// {comments.GENERATED}\n"


def write_header(tool: ToolPlan) -> str:
    """Returns the first line of a file that is generated for a tool."""
    return f"// {comments.name_source(tool)}\n"


@lru_cache(maxsize=4096)
def quote(text: str) -> str:
    """Returns a literal, in the quotes that need fewer escapes."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    inside = _show_hidden(json.dumps(text, ensure_ascii=False)[1:-1])
    if text.count('"') > text.count("'"):
        return "'" + inside.replace('\\"', '"').replace("'", "\\'") + "'"
    return f'"{inside}"'


def _show_hidden(text: str) -> str:
    """Returns a text with escapes for what a reader would not see."""
    return text if text.isascii() and text.isprintable() else "".join(map(_escape, text))


def _escape(one: str) -> str:
    if " " <= one <= "~" or unicodedata.category(one) not in _HIDDEN:
        return one
    return json.dumps(one)[1:-1] if one > "~" and one != "\x7f" else f"\\u{ord(one):04x}"


def write_scalar(value: JsonValue) -> str:
    """Returns a value that is neither object nor list as an expression."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return str(int(value)) if whole else _EXPONENT.sub(r"e\1", json.dumps(value))
    return json.dumps(value)


def write_literal(value: JsonValue, indent: str = "", leaf: Callable[[JsonValue], str] = write_scalar) -> str:
    """Returns a JSON value as an expression, on one line where it is short. `leaf` writes what is no object and no list."""
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{quote_property(name)}: {_inside(each, inner, leaf)}" for name, each in value.items()]
        opening, closing = ("{ ", " }") if lines else ("{", "}")
    elif isinstance(value, list):
        lines = [_inside(each, inner, leaf) for each in value]
        opening, closing = "[", "]"
    else:
        return leaf(value)
    flat = f"{opening}{', '.join(lines)}{closing}"
    is_row = len(opening) == 1 and not any(isinstance(each, _CONTAINERS) for each in value)
    if is_row or (len(indent) + len(flat) <= _BRIEF and "\n" not in flat):
        return flat
    return opening[0] + "".join([f"\n{inner}{each}," for each in lines]) + f"\n{indent}{closing[-1]}"


def _inside(value: JsonValue, indent: str, leaf: Callable[[JsonValue], str]) -> str:
    return write_literal(value, indent, leaf) if isinstance(value, _CONTAINERS) else leaf(value)


@lru_cache(maxsize=4096)
def quote_property(name: str) -> str:
    """Returns the name of a member in an object, where `__proto__` would be something else."""
    return f"[{quote(name)}]" if name == "__proto__" else quote_member(name)


def quote_member(name: str) -> str:
    """Returns the name of a member, quoted where it has to be."""
    return name if _NAME.fullmatch(name) else quote(name)


def fits(line: str) -> bool:
    """Tells whether a line is as wide as it looks, no wider than Prettier has it, and without a name it would unquote."""
    if len(line) > WIDTH:
        return False
    return line.isascii() or (all(one < "\u0300" for one in line) and _ODD_NAME.match(line) is None)


def write_line(line: str, indent: str = "") -> str:
    """Returns a member or a statement as it is, however long."""
    whole = f"{indent}{line}"
    is_simple = fits(whole) if "\n" not in line else all(fits(each) and each[-1] != "[" for each in whole.split("\n"))
    return f"{indent}{line}\n" if is_simple else f"{indent}{_IGNORE}{indent}{line}\n"


def ignore_layout(text: str) -> str:
    """Returns a statement of data whose layout is its own."""
    return f"{_IGNORE}{text}\n"


def write_text_member(name: str, value: str, indent: str = "  ") -> str:
    """Returns a member of an object whose value is a text."""
    line = f"{name}: {quote(value)},"
    if fits(indent + line) or not fits(quote(value)[:WIDTH]) or len(name) < _SHORT:
        return write_line(line, indent)
    return f"{indent}{name}:\n{indent}  {quote(value)},\n"


def write_import(names: Sequence[str], source: str) -> str:
    """Returns an import of some names; those that begin with `type ` are types."""
    if all(name.startswith("type ") for name in names):
        return write_list("import type {", [name.removeprefix("type ") for name in names], f"}} from {quote(source)};")
    return write_list("import {", names, f"}} from {quote(source)};")


def write_list(begins: str, items: Sequence[str], ends: str, indent: str = "") -> str:
    """Returns a statement with a list in parentheses or braces, on one line or with a line for each item."""
    space = " " if begins.endswith("{") else ""
    line = f"{indent}{begins}{space}{', '.join(items)}{space}{ends}"
    if fits(line) or not items or (space and len(items) < 2):
        return f"{line}\n"
    return f"{indent}{begins}\n" + "".join(f"{indent}  {item},\n" for item in items) + f"{indent}{ends}\n"


def write_generic(begins: str, types: Sequence[str], ends: str) -> str:
    """Returns the first line of a declaration whose type has parameters, or a line for each of them."""
    line = f"{begins}<{', '.join(types)}>{ends}"
    if fits(line):
        return f"{line}\n"
    if len(types) < 2 or fits(line.removesuffix(" {")) or not fits(f"{begins}<"):
        return ignore_layout(line)
    return f"{begins}<\n" + ",\n".join(f"  {each}" for each in types) + f"\n>{ends}\n"


CallText: TypeAlias = "tuple[str, list[str | CallText]]"
"""What is called, and with what."""


def write_call(found: CallText, indent: str, begins: str = "", ends: str = ";") -> str:
    """Returns a call as a statement, broken at its parentheses where it is too long."""
    callee, arguments = found
    line = f"{indent}{begins}{_flat(found)}{ends}"
    if fits(line) or not arguments:
        return f"{line}\n"
    inner = indent + "  "
    lines = [f"{inner}{each},\n" if isinstance(each, str) else write_call(each, inner, ends=",") for each in arguments]
    return f"{indent}{begins}{callee}(\n{''.join(lines)}{indent}){ends}\n"


def _flat(found: str | CallText) -> str:
    return found if isinstance(found, str) else f"{found[0]}({', '.join(map(_flat, found[1]))})"


def write_comment(lines: Iterable[str], indent: str = "") -> str:
    """Returns a documentation comment, with its line end; empty where there is nothing to say."""
    wrapped = [part for line in lines for part in _wrap(line, WIDTH - 5 - len(indent))]
    while wrapped and not wrapped[-1]:
        wrapped.pop()
    if not wrapped:
        return ""
    if len(wrapped) == 1 and len(wrapped[0]) + len(indent) + 7 <= WIDTH:
        return f"{indent}/** {wrapped[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in wrapped)
    return f"{indent}/**\n{body}{indent} */\n"


def _wrap(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    lines, at = [], ""
    for word in line.split(" "):
        if at and len(at) + 1 + len(word) > width:
            lines.append(at)
            at = word
        else:
            at = f"{at} {word}" if at else word
    # A line that begins with a tag would be one.
    return [re.sub(r"^@", r"\\@", each) for each in (*lines, at)]


def write_lines(text: str) -> list[str]:
    """Returns the lines of a description, safe inside a comment."""
    return [_TAG.sub(r"\1\\@", line.replace("*/", "*\\/").replace("/*", "/\\*")) for line in split_lines(text)]


def camel_style(acronyms: frozenset[str]) -> Style:
    """Returns how functions and variables are called."""
    return Style(camel, KEYWORDS, acronyms)


def pascal_style(acronyms: frozenset[str]) -> Style:
    """Returns how types are called."""
    return Style(pascal, KEYWORDS, acronyms)
