"""AT-22, AT-23: input and output contracts, and their schemas."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.records import find_record, list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.schema.validation.usability import call_defects

_INPUTS = ("schema", "model_input_schema", "runtime_input_schema")
_OUTPUTS = ("structured_schema", "output_schema")


class MissingInputContract(Rule):
    """A tool that takes structured arguments has an `input_contract`, and its schemas are valid JSON Schemas.

    Why: without it no caller can know what to send. A tool is known to take arguments when its embedded interface
    describes some.
    Bad:  a declaration whose interface has properties in `model_input_schema`, and no `input_contract`
    Good: "input_contract": {"model_input_schema": {"type": "object", "properties": {…}}}
    """

    code = "AT-22"
    name = "missing-input-contract"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields the missing contract, or the unsound schemas in it."""
        if "input_contract" not in subject.value:
            interface = find_record(subject, "interface")
            if interface is not None and _has_properties(interface.value.get("model_input_schema")):
                message = "the tool takes arguments, and `input_contract` is missing"
                yield Finding(self.code, ("input_contract",), message)


class MissingOutputContract(Rule):
    """A tool with structured results has an `output_contract`.

    Why: what a result looks like is then known before the first call. Where an interface is given, it may say so instead.
    Bad:  a declaration with neither `output_contract` nor an interface
    Good: "output_contract": {"structured_schema": {"type": "object"}}
    """

    code = "AT-23"
    name = "missing-output-contract"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one note."""
        if not any(key in subject.value for key in ("output_contract", "interface_ref", "tool_interface")):
            message = "nothing says what the tool gives back"
            hint = "add an `output_contract` with a `structured_schema`"
            yield Finding(self.code, ("output_contract",), message, Severity.INFO, hint)


class UnsoundSchema(Rule):
    """Schemas of contracts and interfaces are valid JSON Schemas: AT-22 for input, AT-23 for output, AT-31 for interfaces.

    Why: a schema that does not compile cannot check anything. One of an unknown dialect, or with references to other documents,
    does not: nothing is fetched.
    Bad:  {"type": "strng"}
    Good: {"type": "string"}
    """

    code = "AT-22"
    name = "unsound-schema"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields every unsound keyword, under the rule of the object that holds the schema."""
        for rule, keys in ((self.code, _INPUTS), (MissingOutputContract.code, _OUTPUTS)):
            for path, schema in list_schemas(subject, keys):
                holder = "AT-31" if path[0] not in ("input_contract", "output_contract") else rule
                for defect in call_defects(schema) if schema else ():
                    yield Finding(holder, path + defect.path, defect.sentence(), hint=defect.hint)


def _has_properties(schema: object) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("properties"), dict) and bool(schema["properties"])
