"""What each phase of a call found, in a few words: from the story that the ledger tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule.servers.console.calls.call_words import Story, listed, several
from ferrule.servers.console.rendering import took

_LONGEST = 160


def said_of(phase: str, story: Story) -> str:
    """What a phase found; empty where there is nothing to say."""
    ran = any(record["phase"] == phase and record["ran"] for record in story["phases"])
    if not ran and phase not in ("schedule", "execute", "permission"):
        return ""
    text = _SAID[phase](story) if phase in _SAID else ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _resolve_tool(story: Story) -> str:
    if story["tool_id"].startswith("unknown:"):
        return "there is no such tool for this caller"
    version = f"version {story['tool_version']}" if story.get("tool_version") else "no version"
    return f"{version}, for {story['agent'] or story['principal']}"


def _changes(story: Story, *sources: str) -> list[dict[str, Any]]:
    return [change for change in story.get("mutations", ()) if change["source_type"] in sources]


def _parse_schema(story: Story) -> str:
    if story["status"] == "schema_parse_failed":
        return _message(story)
    fields = [
        field for change in _changes(story, "adapter", "runtime", "migration") for field in change["changed_fields"]
    ]
    return (
        f"fits, after {listed(fields[:4])} {'was' if len(fields) == 1 else 'were'} read or filled in"
        if fields
        else "fits"
    )


def _check_schema_loaded(story: Story) -> str:
    error = (story["result"] or {}).get("error") or {}
    return _message(story) if error.get("error_class") == "schema_not_loaded" else ""


def _validate_values(story: Story) -> str:
    return _message(story) if story["status"] == "validation_failed" else ""


def _prepare_observable_input(story: Story) -> str:
    views = [view for view in story["inputs"] if view["name"] == "observable_input"]
    masked = sum("[REDACTED]" in str(one["after"]) for view in views for one in view["differences"])
    return f"{several(masked, 'field')} masked" if masked else ""


def _pre_hooks(story: Story) -> str:
    hooks = [hook for hook in story.get("hooks", ()) if hook["hook_event"] == "pre_tool_use"]
    changed = {field for change in _changes(story, "hook") for field in change["changed_fields"]}
    return _hooks(len(hooks), len(changed))


def _post_hooks(story: Story) -> str:
    hooks = [hook for hook in story.get("hooks", ()) if hook["hook_event"].startswith(("post", "result"))]
    return _hooks(len(hooks), 0)


def _hooks(count: int, changed: int) -> str:
    if not count:
        return "no hook"
    return several(count, "hook") + (f", changed {several(changed, 'field')}" if changed else "")


def _permission(story: Story) -> str:
    decisions = story["decisions"]
    if not decisions:
        return ""
    last = decisions[-1]
    rule = listed(last.get("rule_refs", [])[:3])
    if story.get("answers"):
        people = listed([answer["by"] for answer in story["answers"][:3]])
        edited = " with an edit" if any(one.get("user_modified") for one in decisions) else ""
        return f"asked; {people} {'allowed it' if last['behavior'] == 'allow' else 'said no'}{edited}"
    match last["behavior"]:
        case "ask":
            return f"asks a person{f', because of {rule}' if rule else ''}"
        case "deny":
            return f"denied by {rule}" if rule else last["reason"]["message"]
        case _:
            return f"allowed by {rule}" if rule else last["reason"]["message"]


def _schedule(story: Story) -> str:
    noted = story.get("scheduler", {})
    keys = [str(lock["key"]) for lock in noted.get("resource_locks", ())]
    waited = noted.get("waited_ms")
    parts = [f"lock {listed(keys[:3])}"] if keys else []
    parts += [f"waited {took(waited * 1000)} for its turn"] if waited else []
    return "; ".join(parts)


def _execute(story: Story) -> str:
    failed = len(story.get("attempts", ()))
    if story.get("cache"):
        return "its result was kept from an earlier call"
    if story["status"] in ("failed", "timed_out") and story["result"]:
        return _message(story)
    if failed:
        return f"{several(failed + 1, 'attempt')}, the last one counted"
    said = story.get("progress", ())
    last = said[-1].get("message") if said and not story["ended_at"] else None
    return str(last) if last else ""


def _map_result(story: Story) -> str:
    result = story["result"] or {}
    value = result.get("structured_content")
    if isinstance(value, dict):
        return several(len(value), "field")
    if isinstance(value, list):
        return several(len(value), "item")
    return several(len(result.get("content") or ()), "block") if result.get("content") else ""


def _persist_result(story: Story) -> str:
    parts = [f"{several(len(story['redactions']), 'kind')} of secret taken out"] if story.get("redactions") else []
    kept = story.get("persistence")
    records = kept if isinstance(kept, list) else [kept] if kept else []
    parts += [str(record.get("strategy", "")).replace("_", " ") for record in records if isinstance(record, dict)]
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _emit_terminal(story: Story) -> str:
    return str(story["status"]).replace("_", " ")


def _message(story: Story) -> str:
    error = (story["result"] or {}).get("error") or {}
    return str(error.get("message") or "")


_SAID: dict[str, Callable[[Story], str]] = {
    "resolve_tool": _resolve_tool,
    "parse_schema": _parse_schema,
    "check_schema_loaded": _check_schema_loaded,
    "validate_values": _validate_values,
    "prepare_observable_input": _prepare_observable_input,
    "pre_hooks": _pre_hooks,
    "permission": _permission,
    "schedule": _schedule,
    "execute": _execute,
    "map_result": _map_result,
    "post_hooks": _post_hooks,
    "persist_result": _persist_result,
    "emit_terminal": _emit_terminal,
}
