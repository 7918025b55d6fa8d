"""AT-56: internal fields in a schema the model sees."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.records import PlacedRecord, list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue, Path
from ferrule.schema.walk import positions

_MODEL = ("schema", "model_input_schema")


class LeakedInternalField(Rule):
    """A field that is for the runtime alone never stands in a schema the model sees.

    Why: the model would fill it in. Internal fields are those listed in `internal_only_fields`, and those marked
    `visibility: internal` in either schema; they belong into `runtime_input_schema`.
    Bad:  a property `tenant_id` in `model_input_schema` that is also in `internal_only_fields`
    Good: the property in `runtime_input_schema` only
    """

    code = "AT-56"
    name = "leaked-internal-field"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per leaked field and place."""
        listed = subject.get("input_contract", "internal_only_fields")
        names = frozenset(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else frozenset()
        marked = frozenset(
            trail
            for placed in list_schemas(subject, ("runtime_input_schema",))
            for _, trail, member in _list_members(placed)
            if _is_internal(member)
        )
        for placed in list_schemas(subject, _MODEL):
            for path, trail, member in _list_members(placed):
                is_listed = trail[-1] in names or ".".join(trail) in names
                if is_listed or trail in marked or _is_internal(member):
                    message = f"the internal field {trail[-1]!r} stands in a schema the model sees"
                    yield Finding(self.code, path, message, hint="keep it in `runtime_input_schema`", on_key=True)


def _list_members(placed: PlacedRecord) -> Iterator[tuple[Path, tuple[str, ...], JsonValue]]:
    """Yields every property with its path and its trail, the names of the properties that lead to it."""
    for position in positions(placed.value, placed.path):
        members = position.schema.get("properties")
        if isinstance(members, dict) and members:
            outer = _trace_names(position.path[len(placed.path) :])
            for name, member in members.items():
                yield (*position.path, "properties", name), (*outer, name), member


def _trace_names(path: Path) -> tuple[str, ...]:
    """Returns the property names in a path through a schema: each stands right after the keyword `properties`."""
    names: list[str] = []
    is_name = False
    for step in path:
        if is_name:
            names.append(str(step))
            is_name = False
        else:
            is_name = step == "properties"
    return tuple(names)


def _is_internal(member: object) -> bool:
    return isinstance(member, dict) and member.get("visibility") == "internal"
