"""Guardrails in agent files: which ones guard the agent's tools, and whether a fired one blocks the run.

`guardrails.tool_input` and `guardrails.tool_output` are lists of `{ref, on_fail?, severity_threshold?}` (or plain
ids); a bare list counts for every point its guardrails are configured for. An agent may be stricter than the
settings, never laxer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ferrule.contracts.surface import CatalogView
from ferrule.model.value import JsonObject, is_number
from ferrule.runtime.hooks.guardrail_records import ON_FAIL, POINTS, GuardrailSettings, OnFail, Point


class GuardrailReference(msgspec.Struct, frozen=True):
    """A reference of an agent to one guardrail."""

    guardrail_id: str
    point: Point | None
    """None: every point it is configured for."""
    said: Mapping[str, object] = {}
    """The other members of the reference, as written."""


class GuardRule(msgspec.Struct, frozen=True):
    """The threshold at which a guardrail fires for a caller, and its reaction."""

    on_fail: OnFail
    severity_threshold: float


class AgentGuards(msgspec.Struct, frozen=True):
    """The guardrails of one agent."""

    rules: Mapping[tuple[str, Point], GuardRule]
    blocks_run: bool
    """`tool_calls.block_tools_on_input_fail`."""
    problem: str = ""
    """The reason why none of its tools may be called: a declared protection is missing."""


def list_agent_files(catalog: CatalogView) -> dict[str, JsonObject]:
    """Returns the newest agent file of each agent in a catalog, by id."""
    found: dict[str, JsonObject] = {}
    for agent in sorted({record.record_id for record in catalog.records("agent")}):
        record = catalog.record("agent", agent)
        payload = msgspec.json.decode(record.payload) if record is not None else {}
        written = payload.get("definition")  # a linked agent keeps its own file under `definition`
        found[agent] = written if isinstance(written, dict) else payload
    return found


def read_agent_guards(
    agent: str, file: Mapping[str, object], known: Mapping[tuple[str, Point], GuardrailSettings]
) -> AgentGuards:
    """Reads the guardrails an agent's file demands, out of the configured ones."""
    block = file.get("guardrails")
    blocks_run, problem = _read_blocks_run(agent, block)
    rules: dict[tuple[str, Point], GuardRule] = {}
    for reference in _iter_references(block):
        points = (
            [reference.point] if reference.point else [at for at in POINTS if (reference.guardrail_id, at) in known]
        )
        found = [(at, known[reference.guardrail_id, at]) for at in points if (reference.guardrail_id, at) in known]
        if not found:
            problem = problem or _describe_missing(agent, reference)
        for at, settings in found:
            rule = _tighten(settings, reference.said)
            if isinstance(rule, str):
                problem = problem or f"the file of the agent {agent!r} says {rule}"
            else:
                key = reference.guardrail_id, at
                rules[key] = _combine(settings, rules[key], rule) if key in rules else rule
    return AgentGuards(rules, blocks_run, problem)


def build_default_rule(settings: GuardrailSettings) -> GuardRule:
    """Builds the rule of the settings, for callers whose agent states none."""
    return GuardRule(settings.on_fail or ON_FAIL[settings.type][0], settings.severity_threshold)


def _read_blocks_run(agent: str, block: object) -> tuple[bool, str]:
    calls = block.get("tool_calls") if isinstance(block, dict) else None
    said = calls.get("block_tools_on_input_fail", False) if isinstance(calls, dict) else False
    if isinstance(said, bool):
        return said, ""
    return True, f"the file of the agent {agent!r} says neither true nor false for block_tools_on_input_fail; mend it"


def _iter_references(block: object) -> Iterator[GuardrailReference]:
    if isinstance(block, dict):
        for point in POINTS:
            yield from _iter_listed(block.get(point), point)
    elif block is not None:
        yield from _iter_listed(block, None)


def _iter_listed(written: object, point: Point | None) -> Iterator[GuardrailReference]:
    for entry in written if isinstance(written, list) else () if written is None else (written,):
        if isinstance(entry, str):
            yield GuardrailReference(entry, point)
            continue
        name = (entry.get("ref") or entry.get("id")) if isinstance(entry, dict) else None
        # Fail closed: an entry without a name still demands a protection, and no guardrail has an empty id.
        yield GuardrailReference(name if isinstance(name, str) else "", point, entry if isinstance(entry, dict) else {})


def _describe_missing(agent: str, reference: GuardrailReference) -> str:
    if not reference.guardrail_id:
        return f"the file of the agent {agent!r} has a guardrail without a `ref`, so its protection is unknown; name it"
    name, at = reference.guardrail_id, reference.point or "tool_input"
    where = f" at {reference.point}" if reference.point else ""
    return (
        f"the agent {agent!r} requires the guardrail {name!r}{where}, which is not configured; add [[guardrails]] with"
        f' id = "{name}" and at = ["{at}"] to ferrule.toml, or take it out of the agent file'
    )


def _tighten(settings: GuardrailSettings, said: Mapping[str, object]) -> GuardRule | str:
    """Returns the stricter of settings and agent; a text when the agent's values are invalid."""
    rule, words = build_default_rule(settings), ON_FAIL[settings.type]
    threshold, on_fail = said.get("severity_threshold"), said.get("on_fail")
    if threshold is not None:
        if not is_number(threshold) or not 0 <= threshold <= 10:
            return f"severity_threshold {threshold!r} for the guardrail {settings.id!r}; write a number from 0 to 10"
        rule = _combine(settings, rule, GuardRule(rule.on_fail, float(threshold)))
    if on_fail is not None:
        if on_fail not in words:
            return (
                f"on_fail {on_fail!r} for the guardrail {settings.id!r}, which answers with {settings.type}; write"
                f" {' or '.join(words)}"
            )
        rule = _combine(settings, rule, GuardRule(on_fail, rule.severity_threshold))
    return rule


def _combine(settings: GuardrailSettings, one: GuardRule, other: GuardRule) -> GuardRule:
    """Combines two rules into one as strict as both."""
    words = ON_FAIL[settings.type]
    return GuardRule(
        min(one.on_fail, other.on_fail, key=words.index), min(one.severity_threshold, other.severity_threshold)
    )
