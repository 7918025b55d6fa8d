"""The page of events: the envelope, from the fields of `Event`, and every class with when it is told."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.model.event import EVENT_TYPES, MEANINGS, STANDARD_EVENT_TYPES, TERMINAL_EVENT_TYPES, Event, EventType
from ferrule.servers.api.field_docs import fields_of
from scripts.reference.cells import cell

_OWN = "Facts the standard asks for without naming a class. A reader passes over classes it does not know."


def page() -> str:
    """The envelope and every class."""
    lines = [
        "# Events",
        "",
        "What happens to tools and calls, in the words of the Agent Tool standard. "
        "[Events and explanations](../guide/events-and-explain.md) shows how to get them.",
        "",
        "## The envelope",
        "",
        "| field | |",
        "|---|---|",
        '| `schema_version` | `"0.2.0"` |',
    ]
    for field in fields_of(Event):
        lines.append(f"| `{field.name}` | {cell(field.text)} |")
    lines += ["", "Fields without a value are left out of the JSON.", ""]
    lines += ["## Classes of the standard", "", *_table(STANDARD_EVENT_TYPES)]
    lines += ["", "*end*: exactly one of these per call, right after its `tool.result.created`.", ""]
    others = [each for each in EVENT_TYPES if each not in STANDARD_EVENT_TYPES]
    lines += ["## Ferrule's own classes", "", _OWN, "", *_table(others), ""]
    return "\n".join(lines)


def _table(types: Sequence[EventType]) -> list[str]:
    rows = [
        f"| `{each}` | {'*end*' if each in TERMINAL_EVENT_TYPES else ''} | {cell(MEANINGS[each])} |" for each in types
    ]
    return ["| class | | when |", "|---|---|---|", *rows]
