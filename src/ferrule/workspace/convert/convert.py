"""Converts tools of any kind to a dialect or format, and reports the losses with their places."""

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
from ferrule.workspace.convert.sources import LocatedTool


class ConversionResult(NamedTuple):
    """The files of a conversion, and its losses."""

    files: dict[str, bytes]
    """By name, relative to where they are written: one for each tool of AML, else one for all."""
    losses: list[Loss]
    left_out: list[Finding]
    """Tools that the target cannot express at all; paths are `(tool_id,)`."""
    names: dict[str, str]
    """Names that had to be changed: the written name to the tool's own."""
    findings: Sequence[Finding] = ()
    """Required values that no definition states (placeholders, or still missing), and names that the target refuses. Paths begin
    with the tool's id."""


def convert(tools: Sequence[LocatedTool], to: str, options: WriteOptions) -> ConversionResult:
    """Converts tools to a dialect or format. Raises SettingsError for an unknown one."""
    if to not in TARGETS and to not in FORMATS.names():
        raise SettingsError(f"there is no dialect or format {to!r}; known: {', '.join(TARGETS)}")
    own = [sourced.tool for sourced in tools]
    if to in NATIVES:
        made = NATIVES[to].make(own, options)
        writing = Writing(made.value, made.losses, made.left_out, findings=made.demands)
    else:
        writing = FORMATS.get(to).write(own, options)
    losses = _locate_losses(writing.losses, tools)
    return ConversionResult(
        _build_files(to, writing.value), losses, list(writing.left_out), dict(writing.names), list(writing.findings)
    )


def _locate_losses(losses: Iterable[Loss], tools: Sequence[LocatedTool]) -> list[Loss]:
    """Adds the place in the source to each loss."""
    places: dict[str, LocatedTool] = {}
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


def _build_files(to: str, value: JsonValue) -> dict[str, bytes]:
    if to == "aml" and isinstance(value, dict):
        return {name: str(text).encode("utf-8", "surrogatepass") for name, text in value.items()}
    if to == "adl" and isinstance(value, dict):
        return {"agent.yaml": format_yaml(value).encode("utf-8", "surrogatepass")}
    return {f"tools.{to}.json" if to != "openapi" else "openapi.json": encode_json(value)}


def encode_json(value: JsonValue) -> bytes:
    """Encodes JSON for people: two spaces, numbers of any size, lone surrogates as escapes."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    except (OverflowError, UnicodeEncodeError):
        return (json.dumps(value, indent=2) + "\n").encode()
