"""Agents that are hard to use, test or observe, as far as one file shows."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, JsonValue, Missing, Path, is_number

LONGEST_DESCRIPTION = 200
WARMEST = 0.7
_WARNING = Severity.WARNING


class WeakAgent(Rule):
    """An agent is described briefly, shows examples of its input, closes its output schema, keeps a low temperature,
    and is observed and audited when it acts.

    Why: without these an agent that works today is hard to test, and fails unseen tomorrow. A console exporter
    throws the telemetry of an active agent away, and is an error.
    Bad:  runtime: {temperature: 1.0}, observability: {exporter: console}
    Good: runtime: {temperature: 0.2}, observability: {exporter: otlp}
    """

    code = "AML-101"
    name = "weak-agent"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields every weakness that shows without other files."""
        description = subject.get("meta", "description")
        if isinstance(description, str) and len(description.strip()) > LONGEST_DESCRIPTION:
            message = f"the description is longer than {LONGEST_DESCRIPTION} characters"
            hint = "say in one or two sentences what it is for, and leave the rest to the body"
            yield self._warn(("meta", "description"), message, hint)
        yield from self._check_interface(subject)
        temperature = subject.get("runtime", "temperature")
        if is_number(temperature) and temperature > WARMEST:
            message = f"a temperature above {WARMEST} makes answers hard to repeat"
            yield self._warn(("runtime", "temperature"), message, f"write {WARMEST} or less")
        if "knowledge" not in subject.value:
            message = "the agent has no `knowledge`; that is right only if it makes no claims that change over time"
            yield Finding(self.code, ("knowledge",), message, Severity.INFO)
        if subject.get("status") == "active":
            yield from self._check_production(subject)

    def _check_interface(self, subject: Subject) -> Iterator[Finding]:
        if _is_absent(subject, "interface", "input", "examples"):
            hint = "give one or two calls under `interface.input.examples`"
            yield self._warn(("interface", "input", "examples"), "the agent's input has no examples", hint)
        path: Path = ("interface", "output", "schema")
        schema = subject.get(*path)
        if isinstance(schema, dict) and _may_be_object(schema) and schema.get("additionalProperties") is not False:
            if "additionalProperties" in schema:
                path = (*path, "additionalProperties")
            message = "the output schema lets any other property through"
            yield self._warn(path, message, "add `additionalProperties: false` at its root")

    def _check_production(self, subject: Subject) -> Iterator[Finding]:
        if subject.get("policies", "audit_level") == "none":
            hint = "write `standard` or `full`"
            yield self._warn(("policies", "audit_level"), "an active agent is not audited", hint)
        observability = subject.get("observability")
        if isinstance(observability, dict | list):
            for path in _find_console_exporters(observability, ("observability",)):
                message = "an active agent must not export its telemetry to the console"
                yield Finding(self.code, path, message, hint="name the exporter of your telemetry system")

    def _warn(self, path: Path, message: str, hint: str | None = None) -> Finding:
        return Finding(self.code, path, message, _WARNING, hint)


def _is_absent(subject: Subject, *path: str) -> bool:
    """Returns True when a key, or a mapping around it, is not written; false when something around it is no mapping."""
    around = subject.get(*path[:-1])
    if isinstance(around, Missing):
        return len(path) > 1 and _is_absent(subject, *path[:-1])
    if not isinstance(around, dict):
        return around is None
    return around.get(path[-1]) in (None, [], {})


def _may_be_object(schema: JsonObject) -> bool:
    kinds = schema.get("type", "object")
    return kinds == "object" or (isinstance(kinds, list) and "object" in kinds)


def _find_console_exporters(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "exporter" and member == "console":
                yield (*path, key)
            elif key == "exporters" and isinstance(member, list):
                yield from _find_console_items(member, (*path, key))
            elif isinstance(member, dict | list):
                yield from _find_console_exporters(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_console_exporters(item, (*path, index))


def _find_console_items(items: list[JsonValue], path: Path) -> Iterator[Path]:
    for index, item in enumerate(items):
        if item == "console" or (isinstance(item, dict) and "console" in (item.get("type"), item.get("name"))):
            yield (*path, index)
        else:
            yield from _find_console_exporters(item, (*path, index))
