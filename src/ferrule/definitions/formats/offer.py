"""Prepares tools for a model: legal names, descriptions, schemas that the provider accepts, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.formats.entries import LEFT_OUT, REFUSED_NAME
from ferrule.definitions.formats.legal_names import NameRule, assign_legal_names
from ferrule.definitions.formats.origins import OriginalTool
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import parse_version
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.schema.fitting import PROFILES, CannotFit, FittedSchema, decode, fit

_KEPT = 16_384
"""The number of fitted schemas in the cache."""


class PreparedTool(NamedTuple):
    """One tool, prepared for a model."""

    tool: Tool
    name: str
    description: str
    schema: JsonObject
    is_strict: bool = False
    fitted: FittedSchema | None = None
    """The fitted schema; None for one that is written as it was imported."""
    had: OriginalTool | None = None
    """The tool's original definition, if it was imported from this format."""

    @property
    def is_verbatim(self) -> bool:
        """True when the original definition is written unchanged."""
        return self.fitted is None

    def decode_arguments(self, given: JsonObject) -> JsonObject:
        """Translates a model's arguments into the tool's own."""
        found = given if self.fitted is None or not self.fitted.steps else decode(self.fitted.steps, given)
        return found if isinstance(found, dict) else given


class PreparedTools(NamedTuple):
    """Tools prepared for a model."""

    tools: tuple[PreparedTool, ...]
    left_out: tuple[Finding, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Problems of tools that are offered all the same."""

    @property
    def names(self) -> Mapping[str, str]:
        """Names that had to be changed: the written one to the tool's own."""
        return {each.name: each.tool.name for each in self.tools if each.name != each.tool.name}


def assign_names(
    tools: Sequence[Tool], rule: NameRule, native: Mapping[str, str]
) -> tuple[list[tuple[Tool, str]], list[Finding]]:
    """Returns each tool with its name, and findings for tools that cannot be written: prompts, resources, older versions.

    `native`: the names, by id, of tools imported from this format; they are kept unless two are the same.
    """
    out: list[Finding] = []
    newest: dict[str, Tool] = {}
    for tool in tools:
        other = newest.get(tool.tool_id)
        if tool.exposed_as is not None:
            out.append(report_left_out(tool, "it is a resource or a prompt, which models do not call"))
        elif other is None:
            newest[tool.tool_id] = tool
        else:
            kept, old = (tool, other) if _is_newer(tool, other) else (other, tool)
            newest[tool.tool_id] = kept
            out.append(
                report_left_out(old, _why_left_out(kept), "rename one of them" if kept.version is None else None)
            )
    counted = Counter(native.values())
    names = {tool_id: name for tool_id, name in native.items() if name and counted[name] == 1}
    rest = [tool for tool_id, tool in newest.items() if tool_id not in names]
    names |= assign_legal_names(rest, rule, names.values())
    return [(tool, names[tool_id]) for tool_id, tool in newest.items()], out


# `fit` has a cache of its own, but has to encode the schema to look there; here the bytes are at hand.
@lru_cache(maxsize=_KEPT)
def fit_schema(schema: bytes, profile: str) -> FittedSchema | str:
    """Fits a schema to a profile; returns the reason where it is not possible."""
    try:
        written = decode_raw(msgspec.Raw(schema))
        return fit(written if isinstance(written, dict) else {}, PROFILES[profile])
    except CannotFit as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        return "it is no JSON"


def report_left_out(tool: Tool, why: str, hint: str | None = None) -> Finding:
    """Reports a tool that is not written."""
    return Finding(LEFT_OUT, (tool.tool_id,), f"the tool {tool.tool_id!r} is left out: {why}", hint=hint)


def report_refused_name(tool: Tool, name: str, title: str) -> Finding:
    """Reports a tool that keeps its original name though the provider refuses it."""
    message = f"{title} refuses the name {name!r}, which the tool {tool.tool_id!r} came in with and is written under"
    return Finding(REFUSED_NAME, (tool.tool_id,), message, Severity.WARNING, "rename it before it is sent")


def _why_left_out(kept: Tool) -> str:
    if kept.version is None:
        return "there is another one with that name"
    return f"version {kept.version} of it is there, and a list has one version of a tool"


def _is_newer(tool: Tool, other: Tool) -> bool:
    mine, theirs = parse_version(tool.version), parse_version(other.version)
    return theirs is None or (mine is not None and mine > theirs)
