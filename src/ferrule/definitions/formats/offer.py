"""What a model is offered of some tools: a legal name, a description, a schema that its provider takes, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.formats.entries import LEFT_OUT, REFUSED_NAME
from ferrule.definitions.formats.legal_names import NameRule, legal
from ferrule.definitions.formats.origins import CameInAs
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import parse_version
from ferrule.model.tool import Tool
from ferrule.schema.fitting import PROFILES, CannotFit, FittedSchema, decode, fit

_KEPT = 16_384
"""How many schemas are kept as providers take them."""


class Offered(NamedTuple):
    """One tool as a model is offered it."""

    tool: Tool
    name: str
    description: str
    schema: dict[str, Any]
    is_strict: bool = False
    fitted: FittedSchema | None = None
    """How the schema was made; None for one that is written as it came in."""
    had: CameInAs | None = None
    """The tool in the words of the same format, where it came in by it."""

    @property
    def is_verbatim(self) -> bool:
        """True when the definition says all of it, and is written as it is."""
        return self.fitted is None

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """What a model answered, as the tool takes it."""
        found = given if self.fitted is None or not self.fitted.steps else decode(self.fitted.steps, given)
        return found if isinstance(found, dict) else given


class Offer(NamedTuple):
    """Some tools as a model is offered them."""

    tools: tuple[Offered, ...]
    left_out: tuple[Finding, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What is wrong with tools that are offered all the same."""

    @property
    def names(self) -> Mapping[str, str]:
        """Names that had to be changed: the written one to the tool's own."""
        return {each.name: each.tool.name for each in self.tools if each.name != each.tool.name}


def named(
    tools: Sequence[Tool], rule: NameRule, native: Mapping[str, str]
) -> tuple[list[tuple[Tool, str]], list[Finding]]:
    """Each tool with the name it is written under, and what cannot be written: what is no tool to a model, older versions.

    `native`: the names, by id, of tools that came in by this very format: they keep them, unless two have the same.
    """
    out: list[Finding] = []
    newest: dict[str, Tool] = {}
    for tool in tools:
        other = newest.get(tool.tool_id)
        if tool.exposed_as is not None:
            out.append(left_out(tool, "it is a resource or a prompt, which models do not call"))
        elif other is None:
            newest[tool.tool_id] = tool
        else:
            kept, old = (tool, other) if _is_newer(tool, other) else (other, tool)
            newest[tool.tool_id] = kept
            out.append(left_out(old, _why_older(kept), "rename one of them" if kept.version is None else None))
    counted = Counter(native.values())
    names = {tool_id: name for tool_id, name in native.items() if name and counted[name] == 1}
    rest = [tool for tool_id, tool in newest.items() if tool_id not in names]
    names |= legal(rest, rule, names.values())
    return [(tool, names[tool_id]) for tool_id, tool in newest.items()], out


@lru_cache(maxsize=_KEPT)
def fitted_schema(schema: bytes, profile: str) -> FittedSchema | str:
    """A schema as a profile takes it, or why it cannot be said."""
    try:
        written = decode_raw(msgspec.Raw(schema))
        return fit(written if isinstance(written, dict) else {}, PROFILES[profile])
    except CannotFit as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        return "it is no JSON"


def left_out(tool: Tool, why: str, hint: str | None = None) -> Finding:
    """That a tool is not written, and why."""
    return Finding(LEFT_OUT, (tool.tool_id,), f"the tool {tool.tool_id!r} is left out: {why}", hint=hint)


def refused_name(tool: Tool, name: str, title: str) -> Finding:
    """That a tool keeps the name it came in with, though the provider takes no such name."""
    message = f"{title} refuses the name {name!r}, which the tool {tool.tool_id!r} came in with and is written under"
    return Finding(REFUSED_NAME, (tool.tool_id,), message, Severity.WARNING, "rename it before it is sent")


def _why_older(kept: Tool) -> str:
    if kept.version is None:
        return "there is another one with that name"
    return f"version {kept.version} of it is there, and a list has one version of a tool"


def _is_newer(tool: Tool, other: Tool) -> bool:
    mine, theirs = parse_version(tool.version), parse_version(other.version)
    return theirs is None or (mine is not None and mine > theirs)
