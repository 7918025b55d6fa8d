"""What there is to see when a phase of a call is opened: facts, the rules that were looked at, the people who were asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ferrule.servers.console.calls.call_words import Story, listed
from ferrule.servers.console.rendering import line, took

Fact = dict[str, Any]
_SHOWN_PROGRESS = 5


def fact(name: str, text: str, *, is_code: bool = False, link: str = "") -> Fact:
    """One fact: `is_code` for what a person could paste, `link` for where it leads."""
    return {"name": name, "text": text, "is_code": is_code, "link": link}


def details_of(phase: str, story: Story, *, has_stopped: bool) -> list[Fact]:
    """The facts of a phase. `has_stopped`: the call ended there."""
    found = list(_FACTS[phase](story)) if phase in _FACTS else []
    error = (story["result"] or {}).get("error") if has_stopped else None
    if error:
        code = f" ({error['error_code']})" if error["error_code"] != error["error_class"] else ""
        found.append(fact("Ended with", f"{error['error_class'].replace('_', ' ')}{code}: {error['message']}"))
    return found


def _changes(*sources: str) -> Callable[[Story], Iterator[Fact]]:
    def changes(story: Story) -> Iterator[Fact]:
        for change in story.get("mutations", ()):
            if change["source_type"] in sources:
                because = f": {change['reason']}" if change["reason"] else ""
                yield fact("Changed", f"{listed(change['changed_fields'])}, by {change['source_ref']}{because}")

    return changes


def _hooks(story: Story, *events: str) -> Iterator[Fact]:
    for hook in story.get("hooks", ()):
        if hook["hook_event"].startswith(events):
            yield fact(hook["hook_id"], f"{hook['hook_event'].replace('_', ' ')} in {took(hook['duration_ms'] * 1000)}")
            for output in hook["outputs"]:
                yield fact("", line(output, 300), is_code=True)


def _pre_hooks(story: Story) -> Iterator[Fact]:
    yield from _hooks(story, "pre")
    yield from _changes("hook")(story)


def _permission(story: Story) -> Iterator[Fact]:
    for decision in story["decisions"]:
        rules = listed([f"rule {ref}" for ref in decision.get("rule_refs", ())])
        by = decision.get("decided_by") or rules or decision["reason"]["type"].replace("_", " ")
        yield fact(decision["behavior"], f"{by}: {decision['reason']['message']}")
        for note in decision.get("classifiers", ()):
            told = f"{note['classifier_ref']} said {note['behavior']} with {note['confidence']:.0%}"
            yield fact("classifier", f"{told}: {note.get('reason', '')}")
        if shadow := decision.get("shadow"):
            yield fact("shadow", f"{shadow['policy_ref']} would say {shadow['behavior']}: {shadow.get('message', '')}")
    yield from _hooks(story, "permission")


def _schedule(story: Story) -> Iterator[Fact]:
    noted, batch = story.get("scheduler", {}), story.get("batch", {})
    for lock in noted.get("resource_locks", ()):
        yield fact("Lock", f"{lock['key']}, {lock['mode']}", is_code=True)
    if noted.get("waited_ms"):
        yield fact("Waited", f"{took(noted['waited_ms'] * 1000)} for its turn")
    if "is_concurrency_safe" in noted:
        yield fact("May overlap", "yes" if noted["is_concurrency_safe"] else "no")
    if batch:
        yield fact(
            "Batch", f"number {batch['index'] + 1} of {batch['size']}", link=f"/console/batches/{batch['batch_id']}"
        )
        for need in batch.get("depends_on", ()):
            yield fact("After", need, is_code=True, link=f"/console/invocations/{need}")


def _execute(story: Story) -> Iterator[Fact]:
    for attempt in story.get("attempts", ()):
        pause = took(attempt.get("waited_seconds", 0) * 1_000_000)
        told = f"{attempt['error_class'].replace('_', ' ')} after {took(attempt['duration_ms'] * 1000)}"
        yield fact(f"Attempt {attempt['number']}", f"{told}; the next came {pause} later")
    for ref in story.get("native_refs", ()):
        yield fact(
            str(ref.get("source", "Ran at")), line({k: v for k, v in ref.items() if k != "source"}, 300), is_code=True
        )
    for one in story.get("cancellations", ()):
        yield from _cancellation(one)
    for late in story.get("late_results", ()):
        yield fact("Too late", f"a result came at {late['at']}; it is on record and was not delivered")
    for said in story.get("progress", ())[-_SHOWN_PROGRESS:]:
        percent = f", {said['percent']:g} %" if said.get("percent") is not None else ""
        yield fact("Said", f"{said.get('message') or said['status'].replace('_', ' ')}{percent}")


def _cancellation(one: dict[str, Any]) -> Iterator[Fact]:
    reason = f": {one['reason']}" if one.get("reason") else ""
    outcome = one["outcome"].replace("_", " ") if one.get("outcome") else "its tool has not stopped yet"
    yield fact("Cancel", f"asked by {one.get('by') or 'nobody on record'}{reason}; {outcome}")
    if one.get("cause"):
        yield fact("Because of", one["cause"], is_code=True, link=f"/console/invocations/{one['cause']}")


def _persist_result(story: Story) -> Iterator[Fact]:
    kept = story.get("persistence")
    for record in kept if isinstance(kept, list) else [kept] if isinstance(kept, dict) else []:
        size = f", {record['original_size_bytes']:,} bytes" if record.get("original_size_bytes") else ""
        why = f": {record['reason']}" if record.get("reason") else ""
        yield fact("Kept", f"{str(record.get('strategy', '')).replace('_', ' ')}{size}{why}")
    if story.get("redactions"):
        yield fact("Taken out", ", ".join(map(str, story["redactions"])))


_FACTS: dict[str, Callable[[Story], Iterator[Fact]]] = {
    "parse_schema": _changes("adapter", "runtime", "migration"),
    "pre_hooks": _pre_hooks,
    "permission": _permission,
    "schedule": _schedule,
    "execute": _execute,
    "post_hooks": lambda story: _hooks(story, "post", "result"),
    "persist_result": _persist_result,
}
