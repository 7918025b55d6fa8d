"""What AML wants a definition to say and OpenAPI does not: when to use a tool, what it does to the world, who owns it."""

from __future__ import annotations

import json
import re
from typing import Any

from ferrule.openapi.drafts import KIND, Draft, facts_as_json
from ferrule.openapi.wording import bounded, shown

_RELEASE = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
_EFFECTS = {
    "POST": "Sends data to {api}, which may create or change something there.",
    "PUT": "Replaces data in {api}.",
    "PATCH": "Changes data in {api}.",
    "DELETE": "Deletes data in {api}, which may not be undone.",
}
_MOST_EXAMPLE = 2_000


def definition_of(draft: Draft, *, api: str, api_version: str, owner: str, date: str) -> dict[str, Any]:
    """The front matter of a tool."""
    operation = draft.operation
    status = "deprecated" if operation.is_deprecated else "active" if draft.is_ready else "draft"
    meta: dict[str, Any] = {"name": draft.title, "description": draft.description, "owner": owner}
    if operation.heading.tags:
        meta["tags"] = list(dict.fromkeys(operation.heading.tags))
    if date and operation.is_deprecated:
        meta["last_updated"] = date
    facts = facts_as_json(draft.facts)
    implied = ("is_read_only", "is_concurrency_safe") if draft.is_reading else ()
    said = {name: fact for name, fact in facts.items() if name not in implied}
    value: dict[str, Any] = {
        "spec_version": "1.2",
        "tool_id": draft.name,
        "version": api_version if _RELEASE.fullmatch(api_version) else "1.0.0",
        "status": status,
        "meta": meta,
        "type": "retrieval" if draft.is_reading else "action",
        "interface": {"input": draft.sending.schema, "output": draft.answering.schema},
    }
    if draft.answering.errors:
        value["error_codes"] = draft.answering.errors
    value["transport"] = draft.transport
    value["use_guidance"] = _guidance(draft, api)
    value["x-ferrule"] = {
        "tool_kind": KIND,
        **({"facts": said} if said else {}),
        "inferred_facts": list(draft.inferred_facts),
        "external_mappings": [draft.mapping],
    }
    return value


def _guidance(draft: Draft, api: str) -> dict[str, Any]:
    wanted = draft.title[:1].lower() + draft.title[1:] if not draft.title[:2].isupper() else draft.title
    where = api or "the service"
    if draft.is_reading:
        return {
            "use_when": [f"The task needs what {where} gives for: {wanted}"],
            "avoid_when": ["The answer is known already from an earlier call"],
        }
    effects = _EFFECTS.get(draft.operation.heading.method, _EFFECTS["POST"])
    return {
        "use_when": [f"The user wants this done in {where}: {wanted}"],
        "avoid_when": ["Nobody asked for it, or the arguments are guessed"],
        "side_effects": effects.format(api=where),
    }


def body_of(draft: Draft, *, api: str, api_version: str) -> str:
    """The Markdown below the front matter: the whole description, and an example."""
    operation = draft.operation
    heading = operation.heading
    parts: list[str] = []
    whole = operation.description.strip()
    if whole and (len(whole) > len(draft.description) or "\n" in whole):
        parts += ["# Purpose", bounded(whole, 8_000)]
    of = " ".join(filter(None, (api, api_version)))
    notes = [f"From `{heading.method} {heading.template}`{f' of {of}' if of else ''}."]
    if operation.docs_url:
        notes.append(f"More: {operation.docs_url}")
    example = _example(draft)
    if example:
        notes.append(f"An example of what is sent:\n\n```json\n{example}\n```")
    parts += ["# Notes", "\n\n".join(notes)]
    return "\n\n".join(parts)


def _example(draft: Draft) -> str:
    body = draft.operation.body
    if body is None:
        return ""
    for media in body.media:
        if media.media_type == draft.sending.media_type:
            for example in media.examples:
                written = shown_whole(example)
                if written:
                    return written
    return ""


def shown_whole(value: Any) -> str:
    """A value as JSON, where it is not long."""
    short = shown(value)
    if short or not isinstance(value, dict | list):
        return short
    try:
        written = json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return ""
    return written if len(written) <= _MOST_EXAMPLE else ""


def owner_of(info: dict[str, Any], namespace: str) -> str:
    """Who owns the tools: whom the document names, else the namespace."""
    contact = info.get("contact")
    name = contact.get("name") if isinstance(contact, dict) else None
    if isinstance(name, str) and name.strip():
        return bounded(" ".join(name.split()), 80)
    return namespace
