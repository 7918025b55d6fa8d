"""Reads the calls of a batch from a file: JSON, YAML or JSON lines. Reports all errors at once, with their lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ferrule.app.batch_requests import CallRequest
from ferrule.definitions.compiler.locate import locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import BatchError, WorkspaceError
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Source
from ferrule.model.hints import nearest
from ferrule.model.misfits import choices_at, describe_complaint
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.value import JsonObject, Path

_MAX_BYTES = 64 * 1024 * 1024
_SHOWN = 20
_LINES = (".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_CALL = {field.encode_name: field for field in msgspec.structs.fields(CallRequest)}
_POLICY = {field.encode_name: field for field in msgspec.structs.fields(SchedulerPolicy)}
_MEANT = {"tool": "name", "tool_name": "name", "input": "arguments", "args": "arguments", "after": "depends_on"}


class BatchFile(NamedTuple):
    """The calls of a file, and their policy."""

    calls: list[CallRequest]
    policy: dict[str, Any]


class _SourceValue(NamedTuple):
    """A value of the file: its document, and its path in it."""

    document: Document
    first_line: int
    value: Any
    path: Path


class _FileErrors:
    """The errors of a file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[tuple[int, int, str]] = []

    def add(
        self, written: _SourceValue, path: Path, message: str, hint: str | None = None, *, on_key: bool = False
    ) -> None:
        """Adds an error about the value at a path."""
        finding = Finding("batch", (*written.path, *path), message, hint=hint, on_key=on_key)
        span = locate(written.document, [finding])[0].span
        self.at(written.first_line + span.line - 1, span.column, message, hint)

    def at(self, line: int, column: int, message: str, hint: str | None = None) -> None:
        """Adds an error at a line."""
        self.found.append((line, column, f"{message}; {hint}" if hint else message))

    def refuse(self) -> None:
        """Raises BatchError if there are errors."""
        if not self.found:
            return
        file = sanitize(self.file)
        lines = [f"{file}:{line}:{column}: {sanitize(words)}" for line, column, words in sorted(self.found)]
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise BatchError("no call was made; the file has to be mended first:\n" + "\n".join(lines[:_SHOWN] + more))


def read_batch(file: str) -> BatchFile:
    """Reads the calls in a file, `-` for standard input. Raises BatchError, WorkspaceError."""
    data = _read_bytes(file)
    mistakes = _FileErrors("<stdin>" if file == "-" else file)
    written, policy = _split_calls(file, data, mistakes)
    mistakes.refuse()
    calls = [_read_call(piece, mistakes) for piece in written]
    settings = _read_fields(policy, _POLICY, "the policy of a batch", mistakes) if policy is not None else {}
    mistakes.refuse()
    _check_names(written, [call for call in calls if call is not None], mistakes)
    mistakes.refuse()
    if not calls:
        raise BatchError(f"{mistakes.file} holds no call")
    return BatchFile([call for call in calls if call is not None], settings)


def _read_bytes(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise BatchError(f"{file} is larger than {_MAX_BYTES >> 20} MB; split it")
    return data


def _split_calls(file: str, data: bytes, mistakes: _FileErrors) -> tuple[list[_SourceValue], _SourceValue | None]:
    """Returns the calls as written, and the policy beside them."""
    if file.lower().endswith(_LINES) or (not file.lower().endswith(_YAML) and _are_lines(data)):
        return [*_read_lines(data, mistakes)], None
    is_json = not file.lower().endswith(_YAML) and data.lstrip()[:1] in (b"{", b"[")
    document = _read_document(
        data, 1, "batch.json" if is_json or file.lower().endswith(".json") else "batch.yaml", mistakes
    )
    if document is None:
        return [], None
    return _read_value(_SourceValue(document, 1, document.value, ()), mistakes)


def _are_lines(data: bytes) -> bool:
    """True for a text whose first line is a whole JSON object, with more below it."""
    first, _, rest = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.strip():
        return False
    try:
        msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _read_lines(data: bytes, mistakes: _FileErrors) -> Iterator[_SourceValue]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            document = _read_document(line, number, "batch.json", mistakes)
            if document is not None:
                yield _SourceValue(document, number, document.value, ())


def _read_document(data: bytes, first_line: int, name: str, mistakes: _FileErrors) -> Document | None:
    """Reads the single document of a text. Invalid text and duplicate keys are errors."""
    documents = read(Source(name, data))
    for document in documents:
        for issue in document.issues:
            mistakes.at(first_line + issue.line - 1, issue.column, issue.message, issue.hint)
    if len(documents) > 1:
        mistakes.at(documents[1].first_line, 1, "a batch is one document", "put all calls into one list")
    if not documents:
        mistakes.at(1, 1, "there is nothing in it", "write a list of calls")
        return None
    return documents[0] if documents[0].is_parsed else None


def _read_value(whole: _SourceValue, mistakes: _FileErrors) -> tuple[list[_SourceValue], _SourceValue | None]:
    value = whole.value
    if isinstance(value, list):
        return _list_items(whole, ()), None
    if isinstance(value, dict) and "name" in value and "calls" not in value:
        return [whole], None
    if not isinstance(value, dict) or "calls" not in value:
        mistakes.add(whole, (), "a batch is a list of calls, or a mapping with `calls` and perhaps `policy`")
        return [], None
    for key in value:
        if key not in ("calls", "policy"):
            hint = nearest(key, ("calls", "policy")) or "a batch has `calls` and `policy`"
            mistakes.add(whole, (key,), f"a batch has no {key!r}", hint, on_key=True)
    if not isinstance(value["calls"], list):
        mistakes.add(whole, ("calls",), "`calls` is a list")
        return [], None
    policy = value.get("policy")
    if policy is not None and not isinstance(policy, dict):
        mistakes.add(whole, ("policy",), "`policy` is a mapping")
        policy = None
    return _list_items(whole, ("calls",)), None if policy is None else whole._replace(value=policy, path=("policy",))


def _list_items(whole: _SourceValue, path: Path) -> list[_SourceValue]:
    items = whole.value[path[0]] if path else whole.value
    return [whole._replace(value=item, path=(*path, number)) for number, item in enumerate(items)]


def _read_call(written: _SourceValue, mistakes: _FileErrors) -> CallRequest | None:
    match written.value:
        case str(name):
            value: dict[str, Any] = {"name": name}
        case [str(name)]:
            value = {"name": name}
        case [str(name), dict(arguments)]:
            value = {"name": name, "arguments": arguments}
        case dict(value):
            before = len(mistakes.found)
            value = _read_fields(written, _CALL, "a call", mistakes)
            if "name" not in written.value and len(mistakes.found) == before:
                mistakes.add(written, ("name",), "a call needs a `name`: the tool to use")
                return None
        case _:
            hint = "write `name` and `arguments`, or [name, {arguments}]"
            mistakes.add(written, (), "this is no call", hint)
            return None
    return CallRequest(**value) if "name" in value else None


def _read_fields(written: _SourceValue, known: Mapping[str, Any], what: str, mistakes: _FileErrors) -> JsonObject:
    """Returns the valid members of a mapping."""
    found: dict[str, Any] = {}
    for key, value in written.value.items():
        field = known.get(key)
        if field is None:
            meant = _MEANT.get(key)
            hint = f"did you mean {meant!r}?" if meant in known else nearest(str(key), known)
            mistakes.add(written, (key,), f"{what} has no {key!r}", hint or f"it has {', '.join(known)}", on_key=True)
        elif key == "arguments" and not isinstance(value, dict | None):
            mistakes.add(written, (key,), "`arguments` is a mapping: the tool's input")
        else:
            alone = key == "depends_on" and isinstance(value, str | int)
            try:
                found[key] = msgspec.convert([value] if alone else value, field.type)
            except msgspec.ValidationError as error:
                words = choices_at(field.type, error)
                hint = f"write one of {', '.join(words)}" if words else None
                mistakes.add(written, (key,), f"`{key}` cannot be used: {describe_complaint(error)}", hint)
    return found


def _check_names(written: list[_SourceValue], calls: list[CallRequest], mistakes: _FileErrors) -> None:
    """Checks that ids are unique, and dependencies exist."""
    names: dict[str, int] = {}
    for number, call in enumerate(calls):
        name = call.id or str(number)
        if name in names:
            mistakes.add(written[number], ("id",), f"the id {name!r} is taken by call {names[name]}")
        names.setdefault(name, number)
    for number, call in enumerate(calls):
        for word in call.depends_on:
            if names.get(str(word), number) == number:
                known = [name for name, other in names.items() if other != number]
                hint = nearest(str(word), known) or "name another call by its id, or by its number, counted from 0"
                mistakes.add(written[number], ("depends_on",), f"there is no other call {word!r}", hint)
