"""The phases of a call for its timeline: each in a few words, and the facts shown when a phase is opened.

Facts are the rules that were checked, the people who were asked, attempts and changes, all from the ledger's record of
the call. `timeline` stands above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.servers.console.calls.call_words import Story, join_words, pluralize
from ferrule.servers.console.rendering import line, took

_LONGEST = 160


def describe_phase(phase: str, story: Story) -> str:
    """Returns the outcome of a phase in a few words; empty where there is nothing to report."""
    ran = any(record["phase"] == phase and record["ran"] for record in story["phases"])
    if not ran and phase not in ("schedule", "execute", "permission"):
        return ""
    text = _DESCRIPTIONS[phase](story) if phase in _DESCRIPTIONS else ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _describe_resolve_tool(story: Story) -> str:
    if story["tool_id"].startswith("unknown:"):
        return "unknown tool for this caller"
    version = f"version {story['tool_version']}" if story.get("tool_version") else "no version"
    return f"{version}, for {story['agent'] or story['principal']}"


def _find_changes(story: Story, *sources: str) -> list[JsonObject]:
    return [change for change in story.get("mutations", ()) if change["source_type"] in sources]


def _describe_parse_schema(story: Story) -> str:
    if story["status"] == "schema_parse_failed":
        return _message(story)
    fields = [
        field
        for change in _find_changes(story, "adapter", "runtime", "migration")
        for field in change["changed_fields"]
    ]
    return (
        f"valid, after {join_words(fields[:4])} {'was' if len(fields) == 1 else 'were'} converted or filled in"
        if fields
        else "valid"
    )


def _describe_check_schema_loaded(story: Story) -> str:
    error = (story["result"] or {}).get("error") or {}
    return _message(story) if error.get("error_class") == "schema_not_loaded" else ""


def _describe_validate_values(story: Story) -> str:
    return _message(story) if story["status"] == "validation_failed" else ""


def _describe_prepare_observable_input(story: Story) -> str:
    views = [view for view in story["inputs"] if view["name"] == "observable_input"]
    masked = sum("[REDACTED]" in str(one["after"]) for view in views for one in view["differences"])
    return f"{pluralize(masked, 'field')} redacted" if masked else ""


def _describe_pre_hooks(story: Story) -> str:
    hooks = [hook for hook in story.get("hooks", ()) if hook["hook_event"] == "pre_tool_use"]
    changed = {field for change in _find_changes(story, "hook") for field in change["changed_fields"]}
    return _count_hooks(len(hooks), len(changed))


def _describe_post_hooks(story: Story) -> str:
    hooks = [hook for hook in story.get("hooks", ()) if hook["hook_event"].startswith(("post", "result"))]
    return _count_hooks(len(hooks), 0)


def _count_hooks(count: int, changed: int) -> str:
    if not count:
        return "no hook"
    return pluralize(count, "hook") + (f", changed {pluralize(changed, 'field')}" if changed else "")


def _describe_permission(story: Story) -> str:
    decisions = story["decisions"]
    if not decisions:
        return ""
    last = decisions[-1]
    rule = join_words(last.get("rule_refs", [])[:3])
    if story.get("answers"):
        people = join_words([answer["by"] for answer in story["answers"][:3]])
        edited = " with an edit" if any(one.get("user_modified") for one in decisions) else ""
        return f"asked; {people} {'approved it' if last['behavior'] == 'allow' else 'rejected it'}{edited}"
    match last["behavior"]:
        case "ask":
            return f"asks a person{f', because of {rule}' if rule else ''}"
        case "deny":
            return f"denied by {rule}" if rule else last["reason"]["message"]
        case _:
            return f"allowed by {rule}" if rule else last["reason"]["message"]


def _describe_schedule(story: Story) -> str:
    noted = story.get("scheduler", {})
    keys = [str(lock["key"]) for lock in noted.get("resource_locks", ())]
    waited = noted.get("waited_ms")
    parts = [f"lock {join_words(keys[:3])}"] if keys else []
    parts += [f"waited {took(waited * 1000)} for its turn"] if waited else []
    return "; ".join(parts)


def _describe_execute(story: Story) -> str:
    failed = len(story.get("attempts", ()))
    if story.get("cache"):
        return "cached result of an earlier call"
    if story["status"] in ("failed", "timed_out") and story["result"]:
        return _message(story)
    if failed:
        return f"{pluralize(failed + 1, 'attempt')}"
    reports = story.get("progress", ())
    last = reports[-1].get("message") if reports and not story["ended_at"] else None
    return str(last) if last else ""


def _describe_map_result(story: Story) -> str:
    result = story["result"] or {}
    value = result.get("structured_content")
    if isinstance(value, dict):
        return pluralize(len(value), "field")
    if isinstance(value, list):
        return pluralize(len(value), "item")
    return pluralize(len(result.get("content") or ()), "block") if result.get("content") else ""


def _describe_persist_result(story: Story) -> str:
    parts = [f"{pluralize(len(story['redactions']), 'kind')} of secret redacted"] if story.get("redactions") else []
    kept = story.get("persistence")
    records = kept if isinstance(kept, list) else [kept] if kept else []
    parts += [str(record.get("strategy", "")).replace("_", " ") for record in records if isinstance(record, dict)]
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _describe_emit_terminal(story: Story) -> str:
    return str(story["status"]).replace("_", " ")


def _message(story: Story) -> str:
    error = (story["result"] or {}).get("error") or {}
    return str(error.get("message") or "")


_DESCRIPTIONS: dict[str, Callable[[Story], str]] = {
    "resolve_tool": _describe_resolve_tool,
    "parse_schema": _describe_parse_schema,
    "check_schema_loaded": _describe_check_schema_loaded,
    "validate_values": _describe_validate_values,
    "prepare_observable_input": _describe_prepare_observable_input,
    "pre_hooks": _describe_pre_hooks,
    "permission": _describe_permission,
    "schedule": _describe_schedule,
    "execute": _describe_execute,
    "map_result": _describe_map_result,
    "post_hooks": _describe_post_hooks,
    "persist_result": _describe_persist_result,
    "emit_terminal": _describe_emit_terminal,
}


Fact = dict[str, Any]
_SHOWN_PROGRESS = 5


def make_fact(name: str, text: str, *, is_code: bool = False, link: str = "") -> Fact:
    """Returns one fact. `is_code`: text that a person could paste; `link`: the address it leads to."""
    return {"name": name, "text": text, "is_code": is_code, "link": link}


def list_details(phase: str, story: Story, *, has_stopped: bool) -> list[Fact]:
    """Returns the facts of a phase. `has_stopped`: the call ended there."""
    found = list(_FACTS[phase](story)) if phase in _FACTS else []
    error = (story["result"] or {}).get("error") if has_stopped else None
    if error:
        code = f" ({error['error_code']})" if error["error_code"] != error["error_class"] else ""
        found.append(make_fact("Ended with", f"{error['error_class'].replace('_', ' ')}{code}: {error['message']}"))
    return found


def _list_changes(*sources: str) -> Callable[[Story], Iterator[Fact]]:
    def changes(story: Story) -> Iterator[Fact]:
        for change in story.get("mutations", ()):
            if change["source_type"] in sources:
                because = f": {change['reason']}" if change["reason"] else ""
                yield make_fact(
                    "Changed", f"{join_words(change['changed_fields'])}, by {change['source_ref']}{because}"
                )

    return changes


def _list_hooks(story: Story, *events: str) -> Iterator[Fact]:
    for hook in story.get("hooks", ()):
        if hook["hook_event"].startswith(events):
            yield make_fact(
                hook["hook_id"], f"{hook['hook_event'].replace('_', ' ')} in {took(hook['duration_ms'] * 1000)}"
            )
            for output in hook["outputs"]:
                yield make_fact("", line(output, 300), is_code=True)


def _list_pre_hooks(story: Story) -> Iterator[Fact]:
    yield from _list_hooks(story, "pre")
    yield from _list_changes("hook")(story)


def _list_permission(story: Story) -> Iterator[Fact]:
    for decision in story["decisions"]:
        rules = join_words([f"rule {ref}" for ref in decision.get("rule_refs", ())])
        by = decision.get("decided_by") or rules or decision["reason"]["type"].replace("_", " ")
        yield make_fact(decision["behavior"], f"{by}: {decision['reason']['message']}")
        for note in decision.get("classifiers", ()):
            verdict = f"{note['classifier_ref']} said {note['behavior']} with {note['confidence']:.0%}"
            yield make_fact("classifier", f"{verdict}: {note.get('reason', '')}")
        if shadow := decision.get("shadow"):
            yield make_fact(
                "shadow", f"{shadow['policy_ref']} would say {shadow['behavior']}: {shadow.get('message', '')}"
            )
    yield from _list_hooks(story, "permission")


def _list_schedule(story: Story) -> Iterator[Fact]:
    noted, batch = story.get("scheduler", {}), story.get("batch", {})
    for lock in noted.get("resource_locks", ()):
        yield make_fact("Lock", f"{lock['key']}, {lock['mode']}", is_code=True)
    if noted.get("waited_ms"):
        yield make_fact("Waited", f"{took(noted['waited_ms'] * 1000)} for its turn")
    if "is_concurrency_safe" in noted:
        yield make_fact("May overlap", "yes" if noted["is_concurrency_safe"] else "no")
    if batch:
        yield make_fact(
            "Batch", f"number {batch['index'] + 1} of {batch['size']}", link=f"/console/batches/{batch['batch_id']}"
        )
        for need in batch.get("depends_on", ()):
            yield make_fact("After", need, is_code=True, link=f"/console/invocations/{need}")


def _list_execute(story: Story) -> Iterator[Fact]:
    for attempt in story.get("attempts", ()):
        pause = took(attempt.get("waited_seconds", 0) * 1_000_000)
        failure = f"{attempt['error_class'].replace('_', ' ')} after {took(attempt['duration_ms'] * 1000)}"
        yield make_fact(f"Attempt {attempt['number']}", f"{failure}; retried after {pause}")
    for ref in story.get("native_refs", ()):
        yield make_fact(
            str(ref.get("source", "Ran at")), line({k: v for k, v in ref.items() if k != "source"}, 300), is_code=True
        )
    for one in story.get("cancellations", ()):
        yield from _list_cancellation(one)
    for late in story.get("late_results", ()):
        yield make_fact("Late result", f"arrived at {late['at']}; recorded, not delivered")
    for said in story.get("progress", ())[-_SHOWN_PROGRESS:]:
        percent = f", {said['percent']:g} %" if said.get("percent") is not None else ""
        yield make_fact("Progress", f"{said.get('message') or said['status'].replace('_', ' ')}{percent}")


def _list_cancellation(one: JsonObject) -> Iterator[Fact]:
    reason = f": {one['reason']}" if one.get("reason") else ""
    outcome = one["outcome"].replace("_", " ") if one.get("outcome") else "the tool has not stopped yet"
    yield make_fact("Cancel", f"requested by {one.get('by') or 'an unrecorded caller'}{reason}; {outcome}")
    if one.get("cause"):
        yield make_fact("Because of", one["cause"], is_code=True, link=f"/console/invocations/{one['cause']}")


def _list_persist_result(story: Story) -> Iterator[Fact]:
    kept = story.get("persistence")
    for record in kept if isinstance(kept, list) else [kept] if isinstance(kept, dict) else []:
        size = f", {record['original_size_bytes']:,} bytes" if record.get("original_size_bytes") else ""
        why = f": {record['reason']}" if record.get("reason") else ""
        yield make_fact("Stored", f"{str(record.get('strategy', '')).replace('_', ' ')}{size}{why}")
    if story.get("redactions"):
        yield make_fact("Redacted", ", ".join(map(str, story["redactions"])))


_FACTS: dict[str, Callable[[Story], Iterator[Fact]]] = {
    "parse_schema": _list_changes("adapter", "runtime", "migration"),
    "pre_hooks": _list_pre_hooks,
    "permission": _list_permission,
    "schedule": _list_schedule,
    "execute": _list_execute,
    "post_hooks": lambda story: _list_hooks(story, "post", "result"),
    "persist_result": _list_persist_result,
}
