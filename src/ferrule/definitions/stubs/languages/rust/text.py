"""Texts and names of definitions made harmless: in comments, string literals, raw strings and identifiers.

Nothing of a definition reaches a stub by another way than these. Comments are documentation that rustdoc renders and whose
code blocks `cargo test` runs, so what Markdown takes for code or HTML is taken out. Some names stubs keep for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake
from ferrule.definitions.stubs.languages.rust.layout import COLUMNS
from ferrule.model.value import JsonValue

_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"[\\<>\[\]]")
_FENCES = re.compile(r"`{3,}|~{3,}")
_ITEM = re.compile(r"(?:[-+*]|\d+[.)]) ")
_WORDS = re.compile(r"(?:`[^`]*`|[^\s`]|`)+")
"""Words, of which code in backquotes is a part with all its blanks."""
_STARTS = re.compile(r"[-+*#=|~_:]|\d+[.)]")
_LONGEST_NOTE = 200
_PLAIN = frozenset(map(chr, [*range(0x20, 0x7F), *(code for code in range(0xA1, 0x300) if chr(code).isalpha())]))
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def literal(text: str) -> str:
    """A string literal."""
    return f'"{"".join(_escaped(one) for one in text)}"'


def _escaped(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if one in _PLAIN:
        return one
    return "\\u{fffd}" if 0xD800 <= ord(one) < 0xE000 else f"\\u{{{ord(one):x}}}"


def raw(text: str) -> str:
    """A raw string literal of ASCII text that may have lines."""
    hashes = "#"
    while f'"{hashes}' in text:
        hashes += "#"
    return f'r{hashes}"{text}"{hashes}'


def json_text(value: msgspec.Raw) -> str:
    """JSON as it was written, in lines and in ASCII."""
    lines = msgspec.json.format(value, indent=2).decode()
    return lines if lines.isascii() else "".join(one if one.isascii() else _units(one) for one in lines)


def _units(one: str) -> str:
    data = one.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def shown(value: JsonValue) -> str:
    """A JSON value for a reader, on one line and not too long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 1]}…"


def one_line(text: str) -> str:
    """Text for a plain comment on one line."""
    return _clean(_BREAKS.sub(" ", text)).strip()


def lines(text: str) -> list[str]:
    """The lines of a description as documentation: no indentation, since rustdoc would take that for code."""
    found = [_documented(line) for line in _BREAKS.split(text)]
    while found and not found[-1]:
        found.pop()
    while found and not found[0]:
        found.pop(0)
    return found


def _documented(line: str) -> str:
    plain = _MARKS.sub(lambda mark: f"\\{mark.group()}", _clean(line))
    plain = _FENCES.sub(lambda fence: "".join(f"\\{one}" for one in fence.group()), plain)
    return plain.strip()


def _clean(text: str) -> str:
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in _BLANKS.sub(" ", text))


def documentation(
    paragraphs: list[list[str]], indent: int = 0, mark: str = "///", *, kept: tuple[str, ...] = ()
) -> str:
    """A documentation comment of paragraphs, each some lines, and of lines that are kept as they are; nothing for nothing."""
    start = f"{' ' * indent}{mark}"
    told: list[str] = []
    for paragraph in filter(None, [*([*_wrapped(each, COLUMNS - len(start) - 1)] for each in paragraphs), [*kept]]):
        told += ["", *paragraph] if told else paragraph
    return "".join(f"{start} {line}\n" if line else f"{start}\n" for line in told)


def _wrapped(paragraph: list[str], columns: int) -> Iterator[str]:
    for line in paragraph:
        if len(line) <= columns or line[0] in "#|":
            yield line
        else:
            yield from _folded(line, columns)


def _folded(line: str, columns: int) -> Iterator[str]:
    """A line of prose as several. What Markdown would take for something else at the beginning of a line stays where it is."""
    item = _ITEM.match(line)
    hanging = " " * min(len(item.group()), 3) if item else ""
    made = ""
    for word in _WORDS.findall(line):
        if made.strip() and len(made) + 1 + len(word) > columns and not _STARTS.match(word):
            yield made
            made = f"{hanging}{word}"
        else:
            made = f"{made} {word}" if made else word
    yield made


KEYWORDS = frozenset(
    """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl
    in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof
    union unsafe unsized use virtual where while yield
    """.split()  # noqa: SIM905
)
RESERVED_TYPES = frozenset(
    """
    Self Option Some None Result Ok Err String Vec Box Copy Send Sized Sync Unpin Drop Fn FnMut FnOnce ToOwned Clone
    PartialEq PartialOrd Eq Ord AsRef AsMut Into From Default Iterator Extend IntoIterator DoubleEndedIterator
    ExactSizeIterator ToString TryFrom TryInto FromIterator Debug Hash BTreeMap Value Number Map Serialize Deserialize
    Serializer Deserializer Document Mismatch Descriptor Context Logger Tool ToolError Config Arc Client CallOptions
    CallError Input Output
    """.split()  # noqa: SIM905
)
DEVICES = frozenset(
    ["aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))]
)
"""What no file can be called on Windows."""
RESERVED_STEMS = (KEYWORDS | DEVICES) | frozenset(
    """
    all alloc ask call_tool cancel client clone config core events follow from_env generated give_up lib main mod new
    request resume serde serde_json services std support tools with_transport
    """.split()  # noqa: SIM905
)
_MEMBERS = Style(snake, KEYWORDS | {"self", "Self"}, longest=50)
_VARIANTS = Style(pascal, frozenset({"Self"}), longest=50)
_REST = ("extra", "other_members", "further_members", "members_without_name")


def member_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Identifiers of fields and parameters."""
    return identifiers(names, _MEMBERS, taken)


def variant_names(words: Iterable[str]) -> dict[str, str]:
    """Identifiers of variants."""
    return identifiers(words, _VARIANTS)


def rest_name(names: Iterable[str]) -> str:
    """What the field is called that holds the members without a field."""
    wanted = {_MEMBERS.made(name) for name in names}
    return next((each for each in _REST if each not in wanted), _REST[0])


def type_names(names: Iterable[str], acronyms: frozenset[str]) -> dict[str, str]:
    """Identifiers of types that are no tree's."""
    return identifiers(names, Style(pascal, acronyms=acronyms, longest=50))
