"""What a list of functions does not say of a tool: exactly what reading the list again would not give."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.definitions.content.extension import decode_raw, find_differences
from ferrule.definitions.formats.offer import Offered
from ferrule.definitions.formats.origins import own_words
from ferrule.model.loss import Instead, Loss
from ferrule.model.tool import Tool
from ferrule.model.value import Path
from ferrule.schema.pointers import write_pointer

_SCHEMA = "input_schema"
_UNSAFE = "a list says nothing about what is safe"
_WHY = {
    "tool_id": "a function is known by its name alone",
    "namespace": "a list of functions has no namespaces",
    "version": "functions have no versions",
    "lifecycle": "a function in a list can be called, whatever its state",
    "tool_kind": "everything in a list is a function",
    "inferred_facts": "a list says nothing about what is safe, so all of it is inferred",
    "approval_required": "whether a person must agree is for whoever runs the tool",
    "max_calls_per_run": "how often a tool may be called is for whoever runs it",
    "credentials": "credentials are for whoever runs the tool",
    "runtime_input_schema": "a model is shown the schema of what it may send, and no other",
}


def losses_of(each: Offered, back: Tool, title: str, format_name: str, can_be_strict: bool) -> Iterator[Loss]:
    """The losses of one tool. `back`: what the written definition is read as. `can_be_strict`: there is a `strict`."""
    tool, no_place = each.tool, f"{title} has no place for it"
    if each.name != tool.name:
        yield Loss(
            tool_id=tool.tool_id, field="name", why=f"{title} takes no such name", instead="rewritten", put=each.name
        )
    words = "" if each.description in (tool.title, each.name) else each.description[len(tool.description) :].strip()
    for place in sorted(find_differences(tool, back)):
        if place.startswith(_SCHEMA):
            yield _schema_loss(each, place, title)
        elif place == "description":
            why = "when to use the tool is told with it" if words else "it says nothing, and a model needs words"
            yield _loss(tool, place, why, "description", each.description)
        elif place == "title" and each.description == tool.title:
            yield _loss(tool, place, f"{title} has no titles", "description", tool.title or "")
        else:
            why = _WHY.get(place) or (_UNSAFE if place.startswith("facts.") else no_place)
            yield Loss(tool_id=tool.tool_id, field=place, why=why)
    if tool.dialect != format_name:
        strict = _said_strict(tool) if can_be_strict else None
        for key in own_words(tool):
            if strict is not None and key == f"{tool.dialect}.strict":
                if strict is not each.is_strict:
                    why = f"{title} is asked for it with --strict" if strict else "--strict asks for it of every tool"
                    yield Loss(tool_id=tool.tool_id, field=key, why=why)
            elif words and key.endswith(".use_guidance"):
                yield _loss(tool, key, no_place, "description", words)
            else:
                yield Loss(tool_id=tool.tool_id, field=key, why=no_place)


def _said_strict(tool: Tool) -> bool | None:
    """Whether the list that a tool came in by asked for strict schemas; None where it said nothing of it."""
    payload = decode_raw(tool.payload)
    mappings = payload.get("external_mappings") if isinstance(payload, dict) else None
    first = mappings[0] if isinstance(mappings, list) and mappings else None
    if not isinstance(first, dict) or first.get("source") != tool.dialect:
        return None
    said = first.get("strict")
    return said if isinstance(said, bool) else None


def _schema_loss(each: Offered, place: str, title: str) -> Loss:
    """Why a place in the schema is not as it was: the reason of the change there, or of the nearest around or inside it."""
    path = place[len(_SCHEMA) :].strip("/")
    changes = each.fitted.changes if each.fitted is not None else ()
    near = [change for change in changes if _nearness(_pointer(change.path), path) >= 0]
    best = max(near, key=lambda change: _nearness(_pointer(change.path), path), default=None)
    if best is None or not _pointer(best.path):  # nothing nearer than the whole schema
        beside = [change for change in changes if _is_beside(_pointer(change.path), path)]
        best = next((change for change in beside if change.instead == "rewritten"), beside[0] if beside else best)
    if best is None:
        why = f"{title} takes schemas written another way, or only the runtime fills it in"
        return _loss(each.tool, place, why, "dropped")
    return _loss(each.tool, place, best.why, best.instead)


def _pointer(path: Path | str) -> str:
    if isinstance(path, str):
        return path.strip("/")
    return write_pointer(path)[1:]


def _nearness(change: str, place: str) -> int:
    """How much of a place's path a change is about; below nought for one that is somewhere else."""
    if place == change or place.startswith(f"{change}/") or not change:
        return len(change)
    return len(place) if change.startswith(f"{place}/") or not place else -1


def _is_beside(change: str, place: str) -> bool:
    """True where a change put something new next to what it changed: words into a description, a name in another's place, a
    property among those that are required."""
    folder, _, name = place.rpartition("/")
    if name == "required" and change.startswith(f"{folder}/properties/".lstrip("/")):
        return True
    return folder == change.rpartition("/")[0] and (name == "description" or folder.endswith("properties"))


def _loss(tool: Tool, field: str, why: str, instead: Instead = "dropped", put: str = "") -> Loss:
    return Loss(tool_id=tool.tool_id, field=field, why=why, instead=instead, put=put)
