"""Adds to the text of ferrule.toml: comments, order and every line that is there stay. The outcome is proven by reading it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from ferrule.errors import SettingsError
from ferrule.infra.toml_values import key, value
from ferrule.settings import FILE_NAME

_HEADER = re.compile(r"^[ \t]*\[{1,2}[^\]\n]*\]{1,2}[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


def with_bound(text: str, bind: Mapping[str, str]) -> str:
    """The settings with functions bound to definitions; what is bound otherwise stays. Raises SettingsError."""
    before = _read(text)
    functions = before.get("functions")
    known = functions.get("bind", {}) if isinstance(functions, dict) else {}
    new = {tool: reference for tool, reference in bind.items() if tool not in known}
    if not new:
        return text
    wanted = _with(before, ("functions", "bind"), {**known, **new})
    lines = [f"{key(tool)} = {value(reference)}" for tool, reference in new.items()]
    for attempt in (_in_table(text, lines), _in_braces(text, lines), _at_end(text, "[functions.bind]", lines)):
        if attempt is not None and _says(attempt, wanted):
            return attempt
    raise SettingsError(
        f"{FILE_NAME} cannot be added to; write this into its [functions] bind yourself: {', '.join(lines)}"
    )


def with_table(text: str, path: tuple[str, ...], members: Mapping[str, Any]) -> str:
    """The settings with a new table at the end. Raises SettingsError when there is one, or it cannot be added."""
    before = _read(text)
    header = f"[{'.'.join(map(key, path))}]"
    lines = [f"{key(name)} = {value(member)}" for name, member in members.items()]
    attempt = _at_end(text, header, lines)
    if not _says(attempt, _with(before, path, dict(members))):
        shown = "\n".join([header, *lines])
        raise SettingsError(f"{FILE_NAME} cannot be added to; write this into it yourself:\n{shown}")
    return attempt


def with_member(text: str, path: tuple[str, ...], name: str, member: Any) -> str:
    """The settings with one value of a table changed or added. Raises SettingsError when its line cannot be found."""
    wanted = _with(_read(text), (*path, name), member)
    dotted = r"[ \t]*\.[ \t]*".join(map(_spelled, path))
    header = re.compile(rf"^[ \t]*\[[ \t]*{dotted}[ \t]*\]", re.MULTILINE)
    found = header.search(text)
    if found is not None:
        start, end = _extent(text, found.end())
        line = re.compile(rf"^([ \t]*{_spelled(name)}[ \t]*=[ \t]*)[^\n]*?([ \t]*#[^\n]*)?$", re.MULTILINE)
        inside, count = line.subn(lambda match: f"{match[1]}{value(member)}{match[2] or ''}", text[start:end], count=1)
        if not count:
            inside = f"{text[start:end].rstrip()}\n{key(name)} = {value(member)}\n" + _blank_end(text[start:end])
        attempt = text[:start] + inside + text[end:]
        if _says(attempt, wanted):
            return attempt
    raise SettingsError(f"write this into [{'.'.join(path)}] of {FILE_NAME} yourself: {key(name)} = {value(member)}")


def _spelled(name: str) -> str:
    plain = re.escape(name)
    return rf"(?:{plain}|\"{plain}\"|'{plain}')"


def _in_table(text: str, lines: list[str]) -> str | None:
    """After the last line of `[functions.bind]`."""
    found = re.search(r"^[ \t]*\[[ \t]*functions[ \t]*\.[ \t]*bind[ \t]*\]", text, re.MULTILINE)
    if found is None:
        return None
    start, end = _extent(text, found.end())
    return text[:start] + f"{text[start:end].rstrip()}\n{_joined(lines)}" + _blank_end(text[start:end]) + text[end:]


def _extent(text: str, start: int) -> tuple[int, int]:
    """A table from its header's end to the next header, without the comments right before that one."""
    following = _HEADER.search(text, start)
    end = following.start() if following is not None else len(text)
    while (line := text.rfind("\n", 0, end - 1) + 1) > start and text[line:end].lstrip().startswith("#"):
        end = line
    return start, end


def _blank_end(inside: str) -> str:
    return "\n" * max(0, inside[len(inside.rstrip()) :].count("\n") - 1)


def _in_braces(text: str, lines: list[str]) -> str | None:
    """Before the brace that closes `bind = { … }`."""
    found = re.search(r"^[ \t]*(?:functions[ \t]*\.[ \t]*)?bind[ \t]*=[ \t]*\{", text, re.MULTILINE)
    if found is None:
        return None
    end = text.find("\n", found.end())
    line = text[found.end() : end if end >= 0 else len(text)]
    close = found.end() + line.rfind("}")
    inside = text[found.end() : close].rstrip()
    return f"{text[: found.end()]}{inside}{',' if inside.strip() else ''} {', '.join(lines)} {text[close:]}"


def _at_end(text: str, header: str, lines: list[str]) -> str:
    return f"{text.rstrip()}\n\n{header}\n{_joined(lines)}".lstrip()


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{FILE_NAME} cannot be read: {error}; mend it first") from None


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _with(settings: dict[str, Any], path: tuple[str, ...], member: Any) -> dict[str, Any]:
    first, *others = path
    inner = settings.get(first)
    below = _with(inner if isinstance(inner, dict) else {}, tuple(others), member) if others else member
    return {**settings, first: below}
