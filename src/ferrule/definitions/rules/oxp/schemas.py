"""Where the schemas of an OXP definition stand; shared by the rules that walk them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ferrule.contracts.rule import Subject
from ferrule.model.value import Path
from ferrule.schema.walk import Position, positions

EXCLUDED = frozenset({"$ref", "$defs", "definitions", "$id", "$anchor", "$dynamicRef", "schemas"})
"""Keywords OXP leaves out of JSON Schema (OXP-11)."""

PARAMETERS: Path = ("input_schema", "parameters")


class Placed(NamedTuple):
    """A schema and its path in the definition."""

    path: Path
    schema: dict[str, Any]


def parameters_of(subject: Subject) -> Placed | None:
    """The schema of the parameters; in compatibility mode it may stand directly in `input_schema` (OXP-49)."""
    outer = subject.get("input_schema")
    if not isinstance(outer, dict):
        return None
    if "parameters" in outer:
        inner = subject.get(*PARAMETERS)
        return Placed(PARAMETERS, inner) if isinstance(inner, dict) else None
    return Placed(("input_schema",), outer) if subject.settings.compat else None


def schemas_of(subject: Subject) -> Iterator[Placed]:
    """The schema of the parameters and that of the output, where they are objects."""
    parameters = parameters_of(subject)
    if parameters is not None:
        yield parameters
    output = subject.get("output_schema")
    if isinstance(output, dict):
        yield Placed(("output_schema",), output)


def examined(subject: Subject, placed: Placed) -> list[Position]:
    """Every schema inside, except what lies below an excluded keyword. Walked once per definition."""
    key = "oxp." + str(placed.path[0])
    known = subject.memo.get(key)
    if known is None:
        known = subject.memo[key] = list(positions(placed.schema, placed.path, skip=EXCLUDED))
    return known  # type: ignore[return-value]  # only this function writes the key


def pruned(schema: Any, excluded: frozenset[Path], path: Path) -> Any:
    """A copy without what stands at the excluded paths, so that the rest can be judged on its own."""
    if isinstance(schema, dict):
        return {key: pruned(schema[key], excluded, (*path, key)) for key in schema if (*path, key) not in excluded}
    if isinstance(schema, list):
        return [pruned(item, excluded, (*path, index)) for index, item in enumerate(schema)]
    return schema
