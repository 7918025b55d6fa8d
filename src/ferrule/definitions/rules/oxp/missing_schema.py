"""OXP-9 and OXP-49: the input and output schemas that are not written where they belong."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity

LATER_DRAFT = "OXP-49"


class MissingParameters(Rule):
    """`input_schema` is an object with a member `parameters`, itself a JSON Schema object.

    Why: what stands beside `parameters` is left to extensions, so a schema directly in `input_schema` says nothing.
    A tool without input writes an empty object. `input_schema` or `output_schema` left out altogether is OXP-1.
    Bad:  "input_schema": {"type": "object"}
    Good: "input_schema": {"parameters": {"type": "object"}}
    """

    code = "OXP-9"
    name = "missing-parameters"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        value = subject.value
        is_compatible = subject.settings.compat
        for key in ("input_schema", "output_schema"):
            if key not in value:
                if is_compatible:
                    yield Finding(LATER_DRAFT, (key,), f"`{key}` is missing, as later drafts allow", Severity.WARNING)
                else:
                    hint = "write {} for any value, null for no output"
                    if key == "input_schema":
                        hint = 'a tool without input has {"parameters": {}}'
                    yield Finding("OXP-1", (key,), f"`{key}` is missing", hint=hint)
        schema = value.get("input_schema")
        if isinstance(schema, dict) and "parameters" not in schema:
            path = ("input_schema", "parameters")
            if is_compatible:
                message = "the schema stands directly in `input_schema`, as in later drafts"
                yield Finding(LATER_DRAFT, path, message, Severity.WARNING, "move it into `parameters`")
            else:
                hint = "put the JSON Schema under `parameters`; {} for a tool without input"
                yield Finding(self.code, path, "`input_schema.parameters` is missing", hint=hint)


class LaterDraft(Rule):
    """A definition in the shape of a later OXP draft, accepted with a warning in compatibility mode (`--compat`).

    Why: some servers already answer so. Without that mode the same file has errors, because OXP 1.0 does not allow it.
    Bad:  "input_schema": {"type": "object"}, or tools listed under `items`, or schemas left out
    Good: "input_schema": {"parameters": {"type": "object"}}, and tools listed under `tools`
    """

    code = LATER_DRAFT
    name = "later-draft"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a catalog whose tools stand under `items`; the other shapes are told by the rules they replace."""
        message = "the tools stand under `items`"
        if subject.settings.compat:
            yield Finding(
                self.code,
                ("items",),
                f"{message}, as in later drafts",
                Severity.WARNING,
                "rename it `tools`",
                on_key=True,
            )
        else:
            yield Finding("OXP-1", ("items",), f"{message}, not under `tools`", hint="rename it `tools`", on_key=True)
