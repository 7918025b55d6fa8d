"""Reads bytes to documents. Whatever the bytes are, it returns documents or one clear issue, and raises nothing."""

from __future__ import annotations

from collections.abc import Callable

from ferrule.contracts.registry import late
from ferrule.definitions.compiler import json_text
from ferrule.definitions.compiler.quick import quick_load
from ferrule.definitions.compiler.scalars import Composed, Unparsable
from ferrule.model.document import Document, Issue, Source, Syntax
from ferrule.model.value import JsonValue

compose_all: Callable[..., list[Composed]] = late("ferrule.definitions.compiler.compose:compose_all")  # brings PyYAML

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


def read(source: Source) -> list[Document]:
    """Reads the documents of a file. A Markdown file without front matter has none, unless its name promises one."""
    syntax = detect_syntax(source)
    if source.problem is not None:
        return [_broken_document(source, syntax, Issue("syntax", source.problem, 1, hint=source.hint))]
    try:
        text = decode(source.data)
        if syntax == "front_matter":
            return _read_front_matter(source, text)
        if syntax == "json":
            value, issues = json_text.load(text)
            return [Document(source, "json", text, 1, value, issues=issues)]
        return _read_yaml(source, text)
    except Unparsable as error:
        return [_broken_document(source, syntax, error.issue)]
    except RecursionError:  # pragma: no cover - every reader bounds its depth; this is the last net
        return [_broken_document(source, syntax, Issue("syntax", "nested too deeply to read", 1))]


def detect_syntax(source: Source) -> Syntax:
    """Chooses how to read a file: by the end of its name, or by its first characters when the name does not say."""
    name = source.name.lower()
    if name.endswith(".md"):
        return "front_matter"
    if name.endswith(".json"):
        return "json"
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    start = source.data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return "json"
    return "front_matter" if start.startswith(b"---") and b"\n---" in source.data[3:] else "yaml"


def decode(data: bytes) -> str:
    """Decodes UTF-8 text and drops a leading BOM. Raises Unparsable for anything else."""
    if data.startswith(_WIDE_BOMS):
        raise Unparsable("the file is UTF-16, not UTF-8", 1, hint="save it as UTF-8")
    nul = data.find(b"\0")
    if nul >= 0:
        raise Unparsable(
            "the file is binary, not text", data.count(b"\n", 0, nul) + 1, hint="definitions are UTF-8 text"
        )
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise Unparsable(
            f"byte 0x{data[error.start]:02x} is not valid UTF-8", line, column, "save it as UTF-8"
        ) from None


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Returns the structured text and the body, or None when the first line is not `---` or no later line closes it."""
    if not text.startswith(("---\n", "---\r\n")):
        return None
    start = at = text.index("\n")
    while (at := text.find("\n---", at)) >= 0:
        end = at + 4
        if text.startswith("\r", end):
            end += 1
        if end == len(text) or text[end] == "\n":
            return text[start + 1 : at + 1], text[end + 1 :]
        at += 1
    return None


def _read_front_matter(source: Source, text: str) -> list[Document]:
    parts = split_front_matter(text)
    if parts is None:
        opened = text.split("\n", 1)[0].removesuffix("\r") == "---"
        message = "the front matter is not closed" if opened else "there is no front matter"
        hint = (
            "add a line `---` after the last field"
            if opened
            else "begin the file with a line `---`, the fields, and `---` again"
        )
        return [_broken_document(source, "front_matter", Issue("front_matter", message, 1, hint=hint))]
    front, body = parts
    value: JsonValue = quick_load(front)
    issues: tuple[Issue, ...] = ()
    if value is None:
        documents = compose_all(front, first_line=2)
        if len(documents) > 1:
            raise Unparsable("the front matter holds more than one YAML document", documents[1].first_line)
        value = documents[0].value if documents else None
        issues = documents[0].issues if documents else ()
    if not isinstance(value, dict):
        issue = Issue("front_matter", "the front matter is not a mapping", 1, hint="write fields as `key: value`")
        return [_broken_document(source, "front_matter", issue)]
    return [Document(source, "front_matter", front, 2, value, body=body, issues=issues)]


def _read_yaml(source: Source, text: str) -> list[Document]:
    quick = quick_load(text)
    if quick is not None:
        return [Document(source, "yaml", text, 1, quick)]
    return [
        Document(source, "yaml", text, composed.first_line, composed.value, issues=composed.issues, index=index)
        for index, composed in enumerate(compose_all(text))
    ]


def _broken_document(source: Source, syntax: Syntax, issue: Issue) -> Document:
    return Document(source, syntax, "", 1, None, issues=(issue,))
