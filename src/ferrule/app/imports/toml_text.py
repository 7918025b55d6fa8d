"""Edits the text of ferrule.toml: comments, order and all other lines stay. The result is verified by parsing it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from ferrule.errors import SettingsError
from ferrule.infra.toml_values import key, value
from ferrule.model.value import JsonObject
from ferrule.settings import FILE_NAME

_HEADER = re.compile(r"^[ \t]*\[{1,2}[^\]\n]*\]{1,2}[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


def add_bindings(text: str, bind: Mapping[str, str]) -> str:
    """Binds functions to definitions; definitions that are bound already stay as they are. Raises SettingsError."""
    before = _parse(text)
    functions = before.get("functions")
    known = functions.get("bind", {}) if isinstance(functions, dict) else {}
    new = {tool: reference for tool, reference in bind.items() if tool not in known}
    if not new:
        return text
    wanted = _set_path(before, ("functions", "bind"), {**known, **new})
    lines = [f"{key(tool)} = {value(reference)}" for tool, reference in new.items()]
    # Each attempt guesses the file's layout; the first that parses to the wanted settings is used.
    for attempt in (
        _append_to_table(text, lines),
        _append_in_braces(text, lines),
        _append_table(text, "[functions.bind]", lines),
    ):
        if attempt is not None and _is_equal(attempt, wanted):
            return attempt
    raise SettingsError(f"{FILE_NAME} cannot be edited; add this to its [functions] bind yourself: {', '.join(lines)}")


def add_table(text: str, path: tuple[str, ...], members: Mapping[str, object]) -> str:
    """Adds a table at the end. Raises SettingsError when it exists, or cannot be added."""
    before = _parse(text)
    header = f"[{'.'.join(map(key, path))}]"
    lines = [f"{key(name)} = {value(member)}" for name, member in members.items()]
    attempt = _append_table(text, header, lines)
    if not _is_equal(attempt, _set_path(before, path, dict(members))):
        shown = "\n".join([header, *lines])
        raise SettingsError(f"{FILE_NAME} cannot be edited; add this to it yourself:\n{shown}")
    return attempt


def set_member(text: str, path: tuple[str, ...], name: str, member: object) -> str:
    """Sets one value of a table. Raises SettingsError when its line cannot be found."""
    wanted = _set_path(_parse(text), (*path, name), member)
    dotted = r"[ \t]*\.[ \t]*".join(map(_build_key_pattern, path))
    header = re.compile(rf"^[ \t]*\[[ \t]*{dotted}[ \t]*\]", re.MULTILINE)
    found = header.search(text)
    if found is not None:
        start, end = _find_extent(text, found.end())
        line = re.compile(rf"^([ \t]*{_build_key_pattern(name)}[ \t]*=[ \t]*)[^\n]*?([ \t]*#[^\n]*)?$", re.MULTILINE)
        inside, count = line.subn(lambda match: f"{match[1]}{value(member)}{match[2] or ''}", text[start:end], count=1)
        if not count:
            inside = f"{text[start:end].rstrip()}\n{key(name)} = {value(member)}\n" + _copy_blank_end(text[start:end])
        attempt = text[:start] + inside + text[end:]
        if _is_equal(attempt, wanted):
            return attempt
    raise SettingsError(f"set this in [{'.'.join(path)}] of {FILE_NAME} yourself: {key(name)} = {value(member)}")


def _build_key_pattern(name: str) -> str:
    plain = re.escape(name)
    return rf"(?:{plain}|\"{plain}\"|'{plain}')"


def _append_to_table(text: str, lines: list[str]) -> str | None:
    """Adds lines after the last one of `[functions.bind]`."""
    found = re.search(r"^[ \t]*\[[ \t]*functions[ \t]*\.[ \t]*bind[ \t]*\]", text, re.MULTILINE)
    if found is None:
        return None
    start, end = _find_extent(text, found.end())
    return (
        text[:start]
        + f"{text[start:end].rstrip()}\n{_join_lines(lines)}"
        + _copy_blank_end(text[start:end])
        + text[end:]
    )


def _find_extent(text: str, start: int) -> tuple[int, int]:
    """Returns the offsets of a table's lines: up to the next header, without the comments right before that."""
    following = _HEADER.search(text, start)
    end = following.start() if following is not None else len(text)
    while (line := text.rfind("\n", 0, end - 1) + 1) > start and text[line:end].lstrip().startswith("#"):
        end = line
    return start, end


def _copy_blank_end(inside: str) -> str:
    return "\n" * max(0, inside[len(inside.rstrip()) :].count("\n") - 1)


def _append_in_braces(text: str, lines: list[str]) -> str | None:
    """Adds members before the brace that closes `bind = { … }`."""
    found = re.search(r"^[ \t]*(?:functions[ \t]*\.[ \t]*)?bind[ \t]*=[ \t]*\{", text, re.MULTILINE)
    if found is None:
        return None
    end = text.find("\n", found.end())
    line = text[found.end() : end if end >= 0 else len(text)]
    close = found.end() + line.rfind("}")
    inside = text[found.end() : close].rstrip()
    return f"{text[: found.end()]}{inside}{',' if inside.strip() else ''} {', '.join(lines)} {text[close:]}"


def _append_table(text: str, header: str, lines: list[str]) -> str:
    return f"{text.rstrip()}\n\n{header}\n{_join_lines(lines)}".lstrip()


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _parse(text: str) -> JsonObject:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{FILE_NAME} cannot be read: {error}; fix it first") from None


def _is_equal(text: str, wanted: JsonObject) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _set_path(settings: JsonObject, path: tuple[str, ...], member: object) -> JsonObject:
    first, *others = path
    inner = settings.get(first)
    below = _set_path(inner if isinstance(inner, dict) else {}, tuple(others), member) if others else member
    return {**settings, first: below}
