"""Tools of any kind written in a dialect or format, with what it cannot say, and where that was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from ferrule.contracts.format import WriteOptions, Writing
from ferrule.definitions.content.yaml_text import format_yaml
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.errors import SettingsError
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.value import JsonValue
from ferrule.workspace.convert import TARGETS
from ferrule.workspace.convert.natives import NATIVES
from ferrule.workspace.convert.sources import Sourced


class Converted(NamedTuple):
    """Files, and what they do not say."""

    files: dict[str, bytes]
    """By name, relative to where they are written: one for each tool of AML, else one for all."""
    losses: list[Loss]
    left_out: list[Finding]
    """Tools that cannot be said in the target at all; paths are `(tool_id,)`."""
    names: dict[str, str]
    """Names that had to be changed: the written one to the tool's own."""
    findings: Sequence[Finding] = ()
    """What the target wants to know and nobody said: made up, or still to be written; and names that it refuses. Paths begin
    with the tool's id."""


def convert(tools: Sequence[Sourced], to: str, options: WriteOptions) -> Converted:
    """Returns the tools in a dialect or format. Raises SettingsError for one that nobody knows."""
    if to not in TARGETS and to not in FORMATS.names():
        raise SettingsError(f"there is no dialect or format {to!r}; known: {', '.join(TARGETS)}")
    own = [sourced.tool for sourced in tools]
    if to in NATIVES:
        made = NATIVES[to].make(own, options)
        writing = Writing(made.value, made.losses, made.left_out, findings=made.demands)
    else:
        writing = FORMATS.get(to).write(own, options)
    losses = _placed(writing.losses, tools)
    return Converted(
        _files(to, writing.value), losses, list(writing.left_out), dict(writing.names), list(writing.findings)
    )


def _placed(losses: Iterable[Loss], tools: Sequence[Sourced]) -> list[Loss]:
    """Returns the losses with the place at which each was said."""
    places: dict[str, Sourced] = {}
    for sourced in tools:
        places.setdefault(sourced.tool.tool_id, sourced)
    found: list[Loss] = []
    for loss in losses:
        place = places.get(loss.tool_id)
        if place is not None and not loss.file:
            line = place.lines(loss.field) if place.lines is not None else 0
            loss = msgspec.structs.replace(loss, file=place.file, line=line or place.line)
        found.append(loss)
    return found


def _files(to: str, value: JsonValue) -> dict[str, bytes]:
    if to == "aml" and isinstance(value, dict):
        return {name: str(text).encode("utf-8", "surrogatepass") for name, text in value.items()}
    if to == "adl" and isinstance(value, dict):
        return {"agent.yaml": format_yaml(value).encode("utf-8", "surrogatepass")}
    return {f"tools.{to}.json" if to != "openapi" else "openapi.json": json_text(value)}


def json_text(value: JsonValue) -> bytes:
    """JSON for people: two spaces, numbers of any size, half characters as escapes."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    except (OverflowError, UnicodeEncodeError):
        return (json.dumps(value, indent=2) + "\n").encode()
