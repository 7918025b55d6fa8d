"""How calls are told on pages: a word and a shape for where one stands, a decision in two words, who is behind a name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ferrule.model.timestamps import parse_iso

Story = Mapping[str, Any]
STANDINGS: dict[str, tuple[str, str]] = {
    "running": ("run", "running"),
    "waiting": ("wait", "waiting"),
    "succeeded": ("ok", "succeeded"),
    "failed": ("bad", "failed"),
    "refused": ("deny", "denied or rejected"),
    "canceled": ("off", "canceled"),
    "timed_out": ("time", "timed out"),
    "unknown": ("unk", "unknown outcome"),
}
"""The shape and the word of each standing, in the order in which people look for them."""
_STATES = {
    "schema_parse_failed": "unfit input",
    "validation_failed": "refused input",
    "denied": "denied",
    "blocked": "blocked",
    "queued": "queued",
    "approved": "approved",
}
_BARS = {
    "ok": "g-ok",
    "run": "g-act",
    "wait": "g-wait",
    "bad": "g-bad",
    "time": "g-bad",
    "unk": "g-bad",
    "deny": "g-deny",
}


class State(NamedTuple):
    """Where something stands: `kind` names the shape and colour, `word` says it."""

    kind: str
    word: str


def state_of(call: Mapping[str, Any]) -> dict[str, str]:
    """Where a call stands, from its short form."""
    kind, word = STANDINGS[call["standing"]]
    word = _STATES.get(call["status"], word)
    if call["status"] == "denied" and call["decision"].startswith("deny by "):
        word = "rejected"
    if call["standing"] == "running" and call["status"] in ("planned", "selected", "arguments_ready", "queued"):
        kind = "queue"
    return {"kind": kind, "word": word}


def bar_of(kind: str) -> str:
    """The class of a bar in a chart."""
    return _BARS.get(kind, "g-idle")


def decision_of(call: Mapping[str, Any]) -> dict[str, str]:
    """The decision about a call: what was said, and which rule or person said it."""
    said, _, person = str(call["decision"]).partition(" by ")
    rule = ", ".join(call["rules"])
    if person:
        return {"word": {"allow": "approved", "deny": "rejected"}.get(said, said), "by": person}
    if call["standing"] == "unknown":
        return {"word": "nobody knows", "by": ""}
    return {"word": {"ask": "asks", "": ""}.get(said, said), "by": rule}


def caller_of(call: Mapping[str, Any]) -> str:
    """Who called: the agent where one is named, else whom it was for."""
    return str(call["agent"] or call["principal"])


def microseconds(text: str) -> int:
    """A time of the API, in microseconds since 1970."""
    return parse_iso(text)


def duration_of(call: Mapping[str, Any], now: int) -> float:
    """How long a call took, or has been going on, in microseconds."""
    if call["duration_ms"] is not None:
        return float(call["duration_ms"]) * 1000
    return max(0, now - microseconds(call["at"]))


def now_micros() -> int:
    """The time, in microseconds since 1970."""
    return time.time_ns() // 1000


def several(count: int, one: str, more: str = "") -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def listed(words: list[str]) -> str:
    """`a, b and c`"""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def known_as(call: Mapping[str, Any]) -> str:
    """The name by which every page shows the tool of a call: its own, as the catalog has it, with its namespace unless it was
    called without. Clients that take no dots say it in another way, which nobody looks for."""
    tool_id, name = str(call["tool_id"] or ""), str(call["tool_name"] or "")
    is_plain = tool_id.endswith((f".{name}", f"/{name}"))
    return name if name and (not tool_id or is_plain or tool_id.startswith("unknown:")) else tool_id
