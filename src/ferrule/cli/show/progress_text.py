"""Progress in words: one record on one line."""

from __future__ import annotations

from typing import Any

from ferrule.cli.call_lookup import format_duration
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.progress import Progress

STILL = "still running"
"""What the runtime says for a call that says nothing itself."""
_MOST = 2_000
"""Characters of a message or a part that are shown; the record has it all."""
_BYTES = {"bytes_read": "read", "bytes_written": "written"}
_STREAMS = {"stdout_bytes": "of output", "stderr_bytes": "of errors"}


def progress_line(said: Progress) -> str:
    """Formats a record as one line: `1.2 s  running, 40%, step 2 of 5: reading`."""
    words = ", ".join([said.status.replace("_", " "), *facts_of(said)])
    told = [text for text in (message_of(said), *parts_of(said)) if text]
    when = format_duration(said.elapsed_ms) if said.elapsed_ms is not None else f"number {said.sequence}"
    return f"{when:>8}  {words}{': ' if told else ''}{'; '.join(told)}"


def message_of(said: Progress) -> str:
    """Returns the tool's message, sanitized."""
    return sanitize(said.message[:_MOST])


def facts_of(said: Progress) -> list[str]:
    """Describes the progress, in every measure that the record has."""
    found = [] if said.percent is None else [f"{said.percent:g}%"]
    if said.current_step is not None:
        of = f" of {said.total_steps}" if said.total_steps is not None else ""
        found.append(f"step {sanitize(said.current_step[:80])}{of}")
    found += [f"{size(count)} {word}" for name, word in _BYTES.items() if (count := getattr(said, name)) is not None]
    found += [f"{size(count)} {word}" for name, word in _STREAMS.items() if type(count := said.extra.get(name)) is int]
    found += [] if said.line_count is None else [f"{said.line_count:,} {'line' if said.line_count == 1 else 'lines'}"]
    return found


def parts_of(said: Progress) -> list[str]:
    """Yields the partial results of the record, a line each."""
    blocks: Any = said.extra.get("content")
    found = []
    for block in blocks if isinstance(blocks, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        kind = block.get("type", "block") if isinstance(block, dict) else "block"
        shown = text[:_MOST] if isinstance(text, str) else f"[{kind}]"
        found += [sanitize(line) for line in shown.split("\n")]
    return found


def size(count: int) -> str:
    """Formats a number of bytes: `512 bytes`, `1.5 kB`, `20 MB`."""
    if abs(count) < 1000:
        return f"{count} {'byte' if count == 1 else 'bytes'}"
    power = min((len(str(abs(count))) - 1) // 3, 4)
    return f"{count / 1000**power:,.3g} {('', 'kB', 'MB', 'GB', 'TB')[power]}"
