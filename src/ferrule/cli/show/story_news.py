"""Explains a call that took its time: how it was scheduled and tried, what it said, who wanted it stopped.

It also lays out a page of text: labels on the left, text wrapped on the right, 100 columns. `story_text` joins the parts.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ferrule.cli.call_lookup import format_clock, format_duration
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.news import CancellationNews, LateResult
from ferrule.model.story import Story
from ferrule.model.timestamps import milliseconds, parse_iso
from ferrule.model.value import JsonObject

_WIDTH = 100
_LABEL = 18


def row(label: str, value: str) -> Iterator[str]:
    """Formats a label and its text, wrapped below itself. Long words are not broken."""
    room = _WIDTH - _LABEL - 2
    lines = textwrap.wrap(sanitize(value), room, break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"  {sanitize(label) if number == 0 else '':<{_LABEL}}{line}".rstrip()


def as_json(value: object) -> str:
    """Formats a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def short(digest: str) -> str:
    """Shortens a digest, enough to compare by eye."""
    kind, _, rest = digest.rpartition(":")
    return f"{kind}:{rest[:12]}" if kind else rest[:12] or "-"


_SHOWN = 3
"""Progress records that are shown: the last ones."""
_COUNTED = ("bytes_read", "bytes_written", "line_count", "exit_code")


def scheduling_lines(story: Story) -> Iterator[str]:
    """Yields how the call was scheduled."""
    said = _members(story.notes.get("scheduler"))
    facts = _members(said.get("facts", said))
    words = [_fact(name, value) for name, value in facts.items() if isinstance(value, bool)]
    if words:
        yield from row("facts", ", ".join(words))
    locks = said.get("locks") or facts.get("resource_locks")
    if locks:
        yield from row("locks", ", ".join(map(_lock, _several(locks))))
    waited = _wait_milliseconds(said)
    if waited is not None:
        yield from row("waited", format_duration(waited))
    batch = _members(story.notes.get("batch"))
    if batch:
        after = ", ".join(map(str, _several(batch.get("depends_on"))))
        of = f" of {batch['size']}" if "size" in batch else ""
        place = f", number {batch['index']}{of}" if "index" in batch else ""
        yield from row("batch", f"{batch.get('batch_id', '')}{place}{f', after {after}' if after else ''}")
        before = _wait_milliseconds(batch)
        if before is not None:
            yield from row("began", f"{format_duration(before)} after it was planned, when those before it had ended")


def attempt_lines(story: Story) -> Iterator[str]:
    """Yields the failed attempts before the last one."""
    for attempt in story.attempts:
        code = f" ({attempt.error_code})" if attempt.error_code not in ("", attempt.error_class) else ""
        native = f", {attempt.native_error_ref}" if attempt.native_error_ref else ""
        took = format_duration(milliseconds(attempt.ended - attempt.started))
        pause = f"; the next came {format_duration(attempt.waited_seconds * 1000)} later"
        yield from row(f"attempt {attempt.number}", f"{attempt.error_class}{code} in {took}{native}{pause}")


def progress_lines(story: Story) -> Iterator[str]:
    """Yields the progress: how many records, and the last one."""
    if not story.progress:
        return
    count = len(story.progress)
    hidden = f", the last {_SHOWN}:" if count > _SHOWN else ""
    yield from row("told", f"{count} {'time' if count == 1 else 'times'}{hidden}")
    for record in story.progress[-_SHOWN:]:
        yield from row(f"number {record['sequence']}", _progress(record))


def _progress(record: JsonObject) -> str:
    words = [_words(record["status"])]
    if record.get("percent") is not None:
        words.append(f"{record['percent']:g}%")
    if record.get("current_step") is not None:
        of = f" of {record['total_steps']}" if record.get("total_steps") is not None else ""
        words.append(f"step {record['current_step']}{of}")
    words += (f"{name.replace('_', ' ')} {record[name]}" for name in _COUNTED if record.get(name) is not None)
    parts = [_block(block) for block in _several(record.get("content"))]
    told = [text for text in (record.get("message"), *parts) if text]
    said = f": {'; '.join(map(str, told))}" if told else ""
    return f"{format_clock(parse_iso(record['timestamp']))}, {', '.join(words)}{said}"


def _block(block: object) -> str:
    return " ".join(str(_members(block).get("text") or as_json(block)).split())[:200]


def cancel_lines(story: Story) -> Iterator[str]:
    """Yields the requests to stop, and their outcomes."""
    for one in story.cancellations:
        yield from _cancel(one)


def _cancel(one: CancellationNews) -> Iterator[str]:
    if one.requested_at is None:
        yield from row("requested", "by nobody on record")
    else:
        by = f" by {one.by}" if one.by else ""
        why = f", {one.abort_reason.replace('_', ' ')}" if one.abort_reason else ""
        cause = f" ({one.cause})" if one.cause else ""
        yield from row(
            "requested", f"{format_clock(one.requested_at)}{by}{why}{cause}{f': {one.reason}' if one.reason else ''}"
        )
    heard = "no" if one.acknowledged_at is None else format_clock(one.acknowledged_at)
    yield from row("acknowledged", heard)
    if not one.outcome:
        yield from row("outcome", "not known yet")
    else:
        when = "" if one.settled_at is None else f"{format_clock(one.settled_at)}, "
        yield from row("outcome", f"{when}{one.outcome.replace('_', ' ')}{f': {_words(one.why)}' if one.why else ''}")


def late_lines(story: Story) -> Iterator[str]:
    """Yields the output that came after the call had ended."""
    for one in story.late_results:
        yield from row("came", f"{format_clock(one.at)}, recorded and not delivered")
        if one.data:
            yield from row("", as_json(one.data))
        yield from row("content", _content(one))


def _content(one: LateResult) -> str:
    if one.result is None:
        return "erased" if one.is_erased else "none"
    if one.result.structured_content is not None:
        return as_json(one.result.structured_content)
    return " ".join(str(block.get("text", as_json(block))) for block in one.result.content) or "none"


def storage_lines(story: Story) -> Iterator[str]:
    """Yields how the result's bytes were stored, and how the caller's context changed."""
    notes = story.notes
    if notes.get("abort_reason"):
        yield from row("abort reason", _words(notes["abort_reason"]))
    for record in _several(notes.get("persistence")):
        yield from row("kept", _describe_storage(_members(record)))
    if notes.get("redactions"):
        yield from row("taken out", ", ".join(map(str, _several(notes["redactions"]))))
    for modifier in _several(notes.get("context_modifiers")):
        yield from row("context", as_json(modifier))


def _describe_storage(record: JsonObject) -> str:
    sizes = f", {record['original_size_bytes']:,} bytes" if isinstance(record.get("original_size_bytes"), int) else ""
    where = f" in {_members(record.get('persisted_ref')).get('uri')}" if record.get("persisted_ref") else ""
    why = f": {record['reason']}" if record.get("reason") else ""
    return f"{_words(record.get('strategy', ''))}{sizes}{where}{why}"


def _fact(name: str, value: bool) -> str:
    words = _words(name.removeprefix("is_"))
    return words if value else f"not {words}"


def _lock(lock: object) -> str:
    if isinstance(lock, dict):
        return f"{lock.get('key')} ({lock.get('mode', 'exclusive')})"
    if isinstance(lock, list | tuple) and len(lock) == 2:
        return f"{lock[0]} ({'shared' if lock[1] else 'exclusive'})"
    return str(lock)


def _wait_milliseconds(said: JsonObject) -> float | None:
    """Returns the waiting time of a note, in milliseconds."""
    for name, factor in (("waited_ms", 1.0), ("waited_seconds", 1000.0), ("waited", 0.000_001)):
        value = said.get(name)
        if isinstance(value, int | float):
            return float(value * factor)
    return None


def _words(value: object) -> str:
    return str(value).replace("_", " ")


def _members(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _several(value: object) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)
