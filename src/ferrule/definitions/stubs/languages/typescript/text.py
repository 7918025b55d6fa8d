"""Texts and names of definitions inside TypeScript: literals, comments and members that nothing can get out of, identifiers.

Identifiers are legal and all different; `KEYWORDS` is what no name may be.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from ferrule.definitions.stubs.identifiers import Style, camel, pascal

_PLAIN = re.compile(r"[ -!#-&(-\[\]-~]*")
_SPECIAL = re.compile(r"[^ -\[\]-~]")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v", "\\": "\\\\"}
_SHOWN = frozenset(("Lu", "Ll", "Lt", "Lo", "Nd", "Pd", "Ps", "Pe", "Po", "Pi", "Pf", "Sc"))
_SIGNS = frozenset(("So", "Sm", "No"))
_TOLD = frozenset(("So", "Sm", "Sk", "Mn", "Mc", "Lm", "No", "Nl", "Pc"))
_UNPLAIN = re.compile(r"[^ -~]")
_IN_NAMES = frozenset(("Lu", "Ll", "Lt", "Lo", "Nd"))
_TAG = re.compile(r"(^|[\s{*])@")
_COLUMNS = 78


def string(text: str) -> str:
    """A literal, in the quotes that need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    if _PLAIN.fullmatch(text):
        return f"{quote}{text}{quote}"
    return quote + _SPECIAL.sub(_escaped, text).replace(quote, f"\\{quote}") + quote


def _escaped(found: re.Match[str]) -> str:
    one = found[0]
    return _ESCAPES.get(one) or (one if _is_shown(one) else _unicode(one))


def _is_shown(one: str) -> bool:
    """Whether a reader sees what it is, and nothing else."""
    return " " <= one <= "~" or (
        one > "~" and one != "\u00ad" and (unicodedata.category(one) in _SHOWN or _is_sign(one))
    )


def _is_sign(one: str) -> bool:
    """Whether it is a sign or a picture by itself, about whose width all agree: `°`, `→`, no half of a flag."""
    is_settled = one < "\u2600" or unicodedata.east_asian_width(one) == "W"
    return is_settled and unicodedata.category(one) in _SIGNS


def _unicode(one: str) -> str:
    code = ord(one)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def number(value: float) -> str | None:
    """A literal of a number; None where JavaScript would round it."""
    if isinstance(value, int) and abs(value) > 2**53 - 1:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}"


def is_held(value: int) -> bool:
    """Whether a number of JavaScript can be this integer, and is then written like it."""
    try:
        return int(Decimal(repr(float(value)))) == value
    except OverflowError:
        return False


def member_name(name: str) -> str:
    """The name of a member of an interface, quoted where it has to be."""
    if _NAME.fullmatch(name):
        return name
    if name.isascii():
        return string(name)
    kinds = {_part_of_name(one) for one in name}
    if "no" not in kinds and not name[0].isdigit():
        if "perhaps" not in kinds:
            return name
        # Formatters differ in what they take for a letter, and let escapes be.
        return '"' + "".join(_unicode(one) if _part_of_name(one) == "perhaps" else one for one in name) + '"'
    return string(name)


def _part_of_name(one: str) -> str:
    """Whether a character may stand in a name without quotes: `yes`, `no`, or `perhaps` where that depends on who is asked."""
    if one in "$_" or (one.isascii() and one.isalnum()):
        return "yes"
    if one.isascii() or not _is_shown(one) or unicodedata.category(one) not in _IN_NAMES or ord(one) > 0xFFFF:
        return "no"
    return "yes" if unicodedata.ucd_3_2_0.category(one) in _IN_NAMES else "perhaps"


def comment(lines: Iterable[str], indent: str = "") -> str:
    """A documentation comment, with its line end; empty where there is nothing to say."""
    wrapped = [part for line in lines for part in _wrapped(line, _COLUMNS - len(indent) - 3)]
    while wrapped and not wrapped[-1]:
        wrapped.pop()
    if not wrapped:
        return ""
    if len(wrapped) == 1 and len(wrapped[0]) + len(indent) + 7 <= 80:
        return f"{indent}/** {wrapped[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in wrapped)
    return f"{indent}/**\n{body}{indent} */\n"


def said(text: str) -> list[str]:
    """The lines of a description, safe inside a comment."""
    lines = re.split(r"\r\n|[\n\r\u2028\u2029\v\f\x85]", text.strip())
    return [_harmless(line) for line in lines] if text.strip() else []


def _harmless(line: str) -> str:
    shown = _UNPLAIN.sub(_told, line.rstrip())
    return _TAG.sub(r"\1\\@", shown.replace("*/", "*\\/").replace("/*", "/\\*"))


def _told(found: re.Match[str]) -> str:
    """Comments also show what does not matter for the width of a line."""
    one = found[0]
    if _is_shown(one) or unicodedata.category(one) in _TOLD:
        return one
    return " " if one == "\t" else _unicode(one)


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    lines, at = [], ""
    for word in line.split(" "):
        if at and len(at) + 1 + len(word) > width:
            lines.append(at)
            at = word
        else:
            at = f"{at} {word}" if at else word
    lines.append(at)
    # A line that begins with a tag would be one.
    return [re.sub(r"^@", r"\\@", each) for each in lines]


def clause(text: str) -> str:
    """A text on one line of a comment."""
    return " ".join(said(text))


def shown(value: object) -> str:
    """A JSON value for a reader, on one line of a comment."""
    text = json.dumps(value, ensure_ascii=False)
    return clause(text if len(text) <= 200 else f"{text[:200]}…")


def pointer_part(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


_WORDS = """
    bigint never
    abstract any arguments as async await boolean break case catch class const constructor continue debugger declare default
    delete do else enum eval export extends false finally for from function get if implements import in instanceof
    interface let new null number object of package private protected public return set static string super switch
    symbol this throw true try type typeof undefined unknown var void while with yield NaN Infinity globalThis
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that are no names of variables, or had better not be."""
_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def camel_style(acronyms: frozenset[str]) -> Style:
    """How functions and variables are called."""
    return Style(camel, KEYWORDS, acronyms)


def pascal_style(acronyms: frozenset[str]) -> Style:
    """How types are called."""
    return Style(pascal, KEYWORDS, acronyms)


def symbol(text: str, otherwise: str, style: Style) -> str:
    """A name that a definition gives, made legal where it is not."""
    if _SYMBOL.fullmatch(text) and len(text) <= style.longest and text not in KEYWORDS:
        return text
    return style.made(text or otherwise)


class Names:
    """Names given out one after another, none of them twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)

    def given(self, *wanted: str) -> str:
        """The first of the wanted names that is free, or the last with something behind it."""
        found = next((each for each in wanted if each not in self._used), "")
        number = 2
        while not found:
            found = f"{wanted[-1]}{number}" if f"{wanted[-1]}{number}" not in self._used else ""
            number += 1
        self._used.add(found)
        return found
