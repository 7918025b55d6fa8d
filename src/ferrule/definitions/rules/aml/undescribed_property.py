"""Properties without a description."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.interface import list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.schema.walk import SchemaPosition

_HINT = "add a `description` that tells the model what the value means"


class UndescribedProperty(Rule):
    """Every property of the interface has a description (a note in the output, a warning in the input).

    Why: models choose values from the description; without one they guess from the name.
    Bad:  q: {type: string}
    Good: q: {type: string, description: Words to search for.}
    """

    code = "AML-35"
    name = "undescribed-property"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each property without a description."""
        for position in list_schemas(subject):
            properties = position.schema.get("properties")
            if not isinstance(properties, dict):
                continue
            for name, schema in properties.items():
                if not isinstance(schema, dict):
                    continue
                text = schema.get("description")
                if (isinstance(text, str) and text.strip()) or _is_refinement(position, name):
                    continue
                severity = Severity.WARNING if position.path[1] == "input" else Severity.INFO
                at = (*position.path, "properties", name, "description")
                yield Finding(self.code, at, f"the property {name!r} has no description", severity, _HINT)


def _is_refinement(position: SchemaPosition, name: str) -> bool:
    """Returns True for a property of a branch that the schema around the branch declares already."""
    return position.around is not None and position.around.declares(name)
