"""Three rules about schemas outside AML's subset: they point elsewhere, are no objects at their root, or name formats that the
runtime does not enforce.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.interface import SIDES, list_keywords, list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.schema.inlining import REFUSED_BY_AML

FORMATS = frozenset({"date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6"})
"""The values of `format` the runtime enforces (AML-30)."""


class RefusedReference(Rule):
    """Interface schemas stand on their own: no `$ref`, `$id`, `definitions`, `$defs`, `$anchor`, `$recursiveRef` or
    `$dynamicRef`, and no alias that makes a schema contain itself.

    Why: a schema is handed to the model as it stands, and models do not follow references.
    Bad:  items: {$ref: "#/definitions/address"}
    Good: items: {type: string, format: email}
    """

    code = "AML-26"
    name = "refused-reference"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per refused keyword."""
        if REFUSED_BY_AML.isdisjoint(list_keywords(subject)):
            return
        for path, schema, _ in list_schemas(subject):
            if REFUSED_BY_AML.isdisjoint(schema):
                continue
            for keyword in schema:
                if keyword in REFUSED_BY_AML:
                    hint = "write the schema out where it is used"
                    message = f"`{keyword}` is not part of AML's JSON Schema"
                    yield Finding(self.code, (*path, keyword), message, hint=hint, on_key=True)


class UntypedInterfaceRoot(Rule):
    """`interface.input` and `interface.output` have `type: object` at their root.

    Why: arguments and results travel as JSON objects.
    Bad:  output: {type: array, items: {type: string}}
    Good: output: {type: object, properties: {names: {type: array, items: {type: string}}}}
    """

    code = "AML-25"
    name = "untyped-interface-root"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at the root's `type`, or at the side when it has none."""
        for side in SIDES:
            schema = subject.get("interface", side)
            if not isinstance(schema, dict) or schema.get("type") == "object":
                continue
            path = ("interface", side, "type")
            if "type" not in schema:
                yield Finding(self.code, path, f"`interface.{side}` has no `type: object`", hint="add it at the root")
            elif not subject.has_error_below(path):
                message = f"the root of `interface.{side}` must have `type: object`, that word alone"
                yield Finding(self.code, path, message, hint="make any other value a property of an object")


class UnsupportedFormat(Rule):
    """`format` is one of those the runtime enforces: date, date-time, time, email, uri, uuid, ipv4, ipv6.

    Why: any other format is a remark that nobody checks.
    Bad:  format: hostname
    Good: format: uri
    """

    code = "AML-30"
    name = "unsupported-format"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each other format."""
        if "format" not in list_keywords(subject):
            return
        for path, schema, _ in list_schemas(subject):
            if "format" in schema:
                value = schema["format"]
                if isinstance(value, str) and value not in FORMATS:
                    message = f"the format {show(value)} is not enforced"
                    hint = nearest(value, FORMATS) or "say in `description` what is expected, or give a `pattern`"
                    yield Finding(self.code, (*path, "format"), message, Severity.WARNING, hint)
