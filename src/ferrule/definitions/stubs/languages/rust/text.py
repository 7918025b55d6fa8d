"""Texts and names of definitions made harmless: in comments, string literals, raw strings and identifiers.

Nothing of a definition reaches a stub by another way than these. Comments are documentation that rustdoc renders and whose
code blocks `cargo test` runs, so what Markdown takes for code or HTML is taken out. Some names stubs keep for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from ferrule.definitions.stubs import comments
from ferrule.definitions.stubs.comments import split_lines
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake

GENERATED = f"// {comments.GENERATED}\n"
_COLUMNS = 100
_ARGUMENTS = 60
"""How wide rustfmt lets the arguments of a call be on one line."""
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"[\\<>\[\]]")
_FENCES = re.compile(r"`{3,}|~{3,}")
_PLAIN = frozenset(map(chr, [*range(0x20, 0x7F), *(code for code in range(0xA1, 0x300) if chr(code).isalpha())]))
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def write_literal(text: str) -> str:
    """Returns a string literal."""
    return f'"{"".join(_escape(one) for one in text)}"'


def _escape(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if one in _PLAIN:
        return one
    return "\\u{fffd}" if 0xD800 <= ord(one) < 0xE000 else f"\\u{{{ord(one):x}}}"


def write_raw(value: msgspec.Raw) -> str:
    """Writes JSON in lines and in ASCII, as a raw string literal."""
    lines = msgspec.json.format(value, indent=2).decode()
    text = lines if lines.isascii() else "".join(one if one.isascii() else _units(one) for one in lines)
    hashes = "#"
    while f'"{hashes}' in text:
        hashes += "#"
    return f'r{hashes}"{text}"{hashes}'


def _units(one: str) -> str:
    data = one.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def document_lines(text: str) -> list[str]:
    """Writes the lines of a description as documentation: no indentation, since rustdoc would take that for code."""
    return [_document(line) for line in split_lines(text)]


def _document(line: str) -> str:
    plain = _MARKS.sub(lambda mark: f"\\{mark.group()}", _BLANKS.sub(" ", line).strip())
    return _FENCES.sub(lambda fence: "".join(f"\\{one}" for one in fence.group()), plain)


def write_documentation(paragraphs: Sequence[Sequence[str]], indent: int = 0, mark: str = "///") -> str:
    """Returns a documentation comment of paragraphs, each some lines; nothing for nothing."""
    listed: list[str] = []
    for paragraph in filter(None, paragraphs):
        listed += ["", *paragraph] if listed else paragraph
    return "".join(f"{' ' * indent}{mark} {line}".rstrip() + "\n" for line in listed)


def write_assignment(before: str, value: str, after: str, indent: int = 0) -> str:
    """Writes `name: Type,` or `const NAME: &str = "…";`; a value that does not fit the line begins the next one."""
    start = " " * indent
    line = f"{start}{before} {value}{after}\n"
    is_next = "\n" not in value and len(line) > _COLUMNS + 1 >= len(start) + 4 + len(value) + len(after) + 1
    return f"{start}{before}\n{start}    {value}{after}\n" if is_next else line


def write_attribute(inside: str, indent: int = 4) -> str:
    """Writes `#[serde(…)]` with one thing in it."""
    start = " " * indent
    line = f"{start}#[serde({inside})]\n"
    return line if len(line) <= _COLUMNS else f"{start}#[serde(\n{start}    {inside}\n{start})]\n"


def write_call(before: str, arguments: Sequence[str], after: str, indent: int) -> str:
    """Writes a call such as `let x = f(a, b);`."""
    start, inside = " " * indent, ", ".join(arguments)
    line = f"{start}{before}({inside}){after}\n"
    if len(inside) <= _ARGUMENTS and len(line) <= _COLUMNS + 1:
        return line
    return f"{start}{before}(\n" + "".join(f"{start}    {each},\n" for each in arguments) + f"{start}){after}\n"


def write_signature(before: str, parameters: Sequence[str], gives: str, indent: int = 0) -> str:
    """Writes a signature such as `pub fn f(a: A) -> B {`."""
    start = " " * indent
    line = f"{start}{before}({', '.join(parameters)}) -> {gives} {{\n"
    if len(line) <= _COLUMNS + 1:
        return line
    listed = "".join(f"{start}    {each},\n" for each in parameters)
    return f"{start}{before}(\n{listed}{start}) -> {gives} {{\n"


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
    Serializer Deserializer Descriptor Context Logger Tool ToolError Config Arc Client CallOptions CallError Input Output
    """.split()  # noqa: SIM905
)
DEVICES = frozenset(
    ["aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))]
)
"""What no file can be called on Windows."""
RESERVED_STEMS = (KEYWORDS | DEVICES) | frozenset(
    """
    all alloc call_tool cancel client clone config core follow from_env generated lib main mod new request reqwest resume
    serde serde_json serde_repr services std support tokio tools
    """.split()  # noqa: SIM905
)
MEMBERS = Style(snake, KEYWORDS | {"self", "Self"}, longest=50)
_VARIANTS = Style(pascal, frozenset({"Self"}), longest=50)
_REST = ("extra", "other_members", "further_members", "members_without_name")


def name_members(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Identifiers of fields and parameters."""
    return identifiers(names, MEMBERS, taken)


def name_variants(words: Iterable[str]) -> dict[str, str]:
    """Identifiers of variants."""
    return identifiers(words, _VARIANTS)


def name_rest(names: Iterable[str]) -> str:
    """Names the field that holds the members without a field."""
    wanted = {MEMBERS.make(name) for name in names}
    return next((each for each in _REST if each not in wanted), _REST[0])
