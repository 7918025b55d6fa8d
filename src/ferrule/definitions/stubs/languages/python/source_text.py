"""Python source with any text in it: literals, comments, docstrings, and calls that ruff leaves as they are.

Nothing that stands in a definition can end a literal or a comment: what is no plain character is escaped. `told` gives what
readers of generated code learn about types and members.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from textwrap import dedent, wrap

from ferrule.contracts.type_tree import Type, TypeAnnotations
from ferrule.definitions.stubs.comments import describe_type, split_lines

WIDTH = 88
"""What ruff's formatter keeps to if nobody says otherwise."""
SKIP = "  # fmt: skip"
"""Where names are so long that no line could hold them."""
_RAW = re.compile(r"[À-ÖØ-öø-ɏͰ-ӿぁ-ゖァ-ヺ一-鿿가-힣]")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*\\"$')
_ORDER = re.compile(r"#+\s*(noqa|ruff|flake8|fmt|type|mypy|pyright|pylint|isort|yapf)", re.IGNORECASE)
"""What tools would obey although it stands within a comment."""


def write_literal(value: str | int | float | bool | None) -> str:
    """Returns a value as Python writes it."""
    return quote(value) if isinstance(value, str) else repr(value)


def quote(text: str) -> str:
    """Returns a text in the quotes that need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escape(one, quote) for one in text) + quote


def _escape(one: str, quote: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if one == quote:
        return f"\\{one}"
    if " " <= one <= "~" or (_RAW.match(one) and unicodedata.normalize("NFC", one) == one):
        return one
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fits(line: str) -> bool:
    """Tells whether a line may stay as it is; letters that may be two columns wide count as such."""
    return (len(line) if line.isascii() else 2 * len(line)) <= WIDTH


def keep_line(line: str) -> str:
    """Returns a line that cannot be broken."""
    return line if fits(line) else line + SKIP


def write_call(head: str, arguments: Sequence[str], indent: str = "", end: str = ")", opened: str = "") -> list[str]:
    """Writes a bracketed list, on one line where it fits, else with an argument on each: `x = f(` and `a`, `b`. `opened`:
    a bracket that only the long form has."""
    whole = f"{indent}{head}{', '.join(arguments)}{end}"
    if not arguments or fits(whole):
        return [keep_line(whole)]
    last = ")" if opened else end
    lines = [f"{indent}{head}{opened}", *(f"{indent}    {argument}," for argument in arguments), f"{indent}{last}"]
    if not all(fits(line) for line in lines):
        lines[-1] += SKIP
    return lines


def write_import(module: str, names: Iterable[str]) -> list[str]:
    """Writes `from module import …`; nothing where there are no names."""
    # As ruff sorts imports: constants, classes, the rest.
    listed = sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name.lower()))
    return write_call(f"from {module} import ", listed, end="", opened="(") if listed else []


def natural_key(name: str) -> list[tuple[int, str]]:
    """Names with numbers by the numbers' size, as linters sort imports."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"([0-9]+)", name)]


def wrap_lines(lines: Iterable[str], room: int) -> list[str]:
    """Returns the lines, long ones broken between words. Lines that are indented stay."""
    found: list[str] = []
    for line in lines:
        if len(line) <= room or line.startswith("    "):
            found.append(line)
        else:
            found += wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]
    return found


def write_comment(lines: Iterable[str], indent: str = "", mark: str = "#:") -> list[str]:
    """Lines before what they are about. `#:` is also what makes them harmless: no tool takes `#: fmt: off` for an order."""
    room = WIDTH - len(indent) - len(mark) - 1
    lines = (_ORDER.sub(r"\1", line) for line in lines)
    return [f"{indent}{mark} {line}".rstrip() for line in wrap_lines(lines, room)]


def write_docstring(lines: Sequence[str], indent: str = "") -> list[str]:
    """Writes the docstring of a module, a class or a function; nothing where there is nothing to say."""
    told = [_escape_docstring(line) for line in wrap_lines([line.rstrip() for line in lines], WIDTH - len(indent) - 8)]
    if not told:
        return []
    told = [told[0].lstrip(), *dedent("\n".join(told[1:])).split("\n")] if len(told) > 1 else [told[0].lstrip()]
    if told[-1].endswith('"') and not _ESCAPED_QUOTE.search(told[-1]):
        told[-1] = told[-1][:-1] + '\\"'
    if len(told) == 1:
        return [f'{indent}"""{told[0]}"""']
    inner = (f"{indent}{line}".rstrip() for line in told[1:])
    return [f'{indent}"""{told[0]}', *inner, f'{indent}"""']


def _escape_docstring(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def write_words(words: TypeAnnotations, made: Type | None = None) -> list[str]:
    """Returns the lines about a type or a member."""
    lines, notes = split_lines(words.description), describe_type(words, made)
    return [*lines, *([""] if lines and notes else []), *notes]
