"""What an agent's file says to its model, as a prompt that people can begin a conversation with.

An AML agent has it in the sections of its body, an ADL manifest in `spec.agent.systemPrompt`. Whoever calls as an agent sees its
own, whoever calls as none sees all. Nothing runs for it: it is a text of the catalog.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.catalog import CatalogView
from ferrule.model.tool import Record
from ferrule.model.value import dig

_SECTIONS = ("purpose", "system behavior", "rules", "escalation", "examples", "non-goals", "output style notes")
_UNUSABLE = ("disabled", "draft", "retired")


class AgentPrompt(NamedTuple):
    """What one agent is told."""

    name: str
    title: str
    description: str
    text: str


def agent_prompts(catalog: CatalogView, agent: str | None) -> dict[str, AgentPrompt]:
    """The prompts of one agent, or of all, by their names."""
    if agent is not None:
        found = [catalog.record(kind, agent) for kind in ("agent", "manifest")]
        records = [record for record in found if record is not None]
    else:
        records = [record for kind in ("agent", "manifest") for record in catalog.records(kind)]
    prompts = [prompt for record in records if (prompt := _prompt(record)) is not None]
    return {prompt.name: prompt for prompt in prompts}


def _prompt(record: Record) -> AgentPrompt | None:
    return _made(record.kind, record.record_id, bytes(record.payload))


@lru_cache(maxsize=512)
def _made(kind: str, agent: str, payload: bytes) -> AgentPrompt | None:
    written = msgspec.json.decode(payload)
    if not isinstance(written, dict):
        return None
    text, description = _of_agent(written) if kind == "agent" else _of_manifest(written)
    if not text:
        return None
    return AgentPrompt(f"agent-{agent}", agent, description or f"What the agent {agent!r} is told.", text)


def _of_agent(written: dict[str, Any]) -> tuple[str, str]:
    if dig(written, ("definition", "status")) in _UNUSABLE:
        return "", ""
    body = written.get("body")
    sections = body if isinstance(body, dict) else {}
    known = [(name, sections[name]) for name in _SECTIONS if isinstance(sections.get(name), str)]
    text = "\n\n".join(f"# {name.capitalize()}\n\n{part.strip()}" for name, part in known if part.strip())
    return text, _line(dig(written, ("definition", "meta", "description")))


def _of_manifest(written: dict[str, Any]) -> tuple[str, str]:
    text = dig(written, ("spec", "agent", "systemPrompt"))
    return (text.strip() if isinstance(text, str) else ""), _line(dig(written, ("metadata", "description")))


def _line(text: Any) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""
