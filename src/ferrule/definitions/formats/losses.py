"""Reports the losses of a list of functions: exactly the details that reading the list again would not give."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.definitions.content.extension import decode_raw, find_differences
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.definitions.formats.origins import list_own_keys
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


def list_losses(each: PreparedTool, back: Tool, title: str, format_name: str, can_be_strict: bool) -> Iterator[Loss]:
    """Yields the losses of one tool. `back`: the tool read back. `can_be_strict`: the format has a `strict` flag."""
    tool, no_place = each.tool, f"{title} has no place for it"
    if each.name != tool.name:
        yield Loss(
            tool_id=tool.tool_id, field="name", why=f"{title} takes no such name", instead="rewritten", put=each.name
        )
    words = "" if each.description in (tool.title, each.name) else each.description[len(tool.description) :].strip()
    for place in sorted(find_differences(tool, back)):
        if place.startswith(_SCHEMA):
            yield _build_schema_loss(each, place, title)
        elif place == "description":
            why = "when to use the tool is told with it" if words else "it says nothing, and a model needs words"
            yield _build_loss(tool, place, why, "description", each.description)
        elif place == "title" and each.description == tool.title:
            yield _build_loss(tool, place, f"{title} has no titles", "description", tool.title or "")
        else:
            why = _WHY.get(place) or (_UNSAFE if place.startswith("facts.") else no_place)
            yield Loss(tool_id=tool.tool_id, field=place, why=why)
    if tool.dialect != format_name:
        strict = _read_strict(tool) if can_be_strict else None
        for key in list_own_keys(tool):
            if strict is not None and key == f"{tool.dialect}.strict":
                if strict is not each.is_strict:
                    why = f"{title} is asked for it with --strict" if strict else "--strict asks for it of every tool"
                    yield Loss(tool_id=tool.tool_id, field=key, why=why)
            elif words and key.endswith(".use_guidance"):
                yield _build_loss(tool, key, no_place, "description", words)
            else:
                yield Loss(tool_id=tool.tool_id, field=key, why=no_place)


def _read_strict(tool: Tool) -> bool | None:
    """Returns the `strict` flag that a tool was imported with; None without one."""
    payload = decode_raw(tool.payload)
    mappings = payload.get("external_mappings") if isinstance(payload, dict) else None
    first = mappings[0] if isinstance(mappings, list) and mappings else None
    if not isinstance(first, dict) or first.get("source") != tool.dialect:
        return None
    said = first.get("strict")
    return said if isinstance(said, bool) else None


def _build_schema_loss(each: PreparedTool, place: str, title: str) -> Loss:
    """Returns the reason for a difference in the schema: that of the change there, or of the nearest around or inside it."""
    path = place[len(_SCHEMA) :].strip("/")
    changes = each.fitted.changes if each.fitted is not None else ()
    near = [change for change in changes if _measure_nearness(_write_path(change.path), path) >= 0]
    best = max(near, key=lambda change: _measure_nearness(_write_path(change.path), path), default=None)
    if best is None or not _write_path(best.path):  # nothing nearer than the whole schema
        beside = [change for change in changes if _is_beside(_write_path(change.path), path)]
        best = next((change for change in beside if change.instead == "rewritten"), beside[0] if beside else best)
    if best is None:
        why = f"{title} takes schemas written another way, or only the runtime fills it in"
        return _build_loss(each.tool, place, why, "dropped")
    return _build_loss(each.tool, place, best.why, best.instead)


def _write_path(path: Path | str) -> str:
    if isinstance(path, str):
        return path.strip("/")
    return write_pointer(path)[1:]


def _measure_nearness(change: str, place: str) -> int:
    """Returns how much of a place's path a change covers; a negative number for a change elsewhere."""
    if place == change or place.startswith(f"{change}/") or not change:
        return len(change)
    return len(place) if change.startswith(f"{place}/") or not place else -1


def _is_beside(change: str, place: str) -> bool:
    """Returns True where a change added something beside its own place: text in a description, another name, a required
    property."""
    folder, _, name = place.rpartition("/")
    if name == "required" and change.startswith(f"{folder}/properties/".lstrip("/")):
        return True
    return folder == change.rpartition("/")[0] and (name == "description" or folder.endswith("properties"))


def _build_loss(tool: Tool, field: str, why: str, instead: Instead = "dropped", put: str = "") -> Loss:
    return Loss(tool_id=tool.tool_id, field=field, why=why, instead=instead, put=put)
