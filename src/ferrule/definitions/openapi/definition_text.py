"""Writes the definition file of a tool: the content of its operation, and placeholders for required keys of AML that OpenAPI
lacks (when to use the tool, its side effects, its owner).
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from ferrule.definitions.content.yaml_text import (
    Memo,
    append_cached_mapping,
    append_mapping,
    format_flow_item,
    format_line,
    format_text,
    join_front_matter,
)
from ferrule.definitions.openapi.drafts import KIND, SOURCE, OperationDraft, encode_facts
from ferrule.definitions.openapi.wording import format_value, shorten_text
from ferrule.model.tool import FACT_NAMES
from ferrule.model.value import JsonObject

_RELEASE = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EFFECTS = {
    "POST": "Sends data to {api}, which may create or change something there.",
    "PUT": "Replaces data in {api}.",
    "PATCH": "Changes data in {api}.",
    "DELETE": "Deletes data in {api}, which may not be undone.",
}
_MOST_EXAMPLE = 2_000
_INFERRED = ", ".join(FACT_NAMES)
"""OpenAPI states none of them."""


class DocumentContext(NamedTuple):
    """The values that all tools of a document share."""

    api: str
    """Its title."""
    api_version: str
    owner: str
    date: str
    """The date of the last update for deprecated tools; empty when unknown."""


def write_definition(draft: OperationDraft, around: DocumentContext, memo: Memo) -> str:
    """Returns the file of a tool."""
    operation, heading = draft.operation, draft.operation.heading
    version = around.api_version if _RELEASE.fullmatch(around.api_version) else "1.0.0"
    status = "deprecated" if operation.is_deprecated else "active" if draft.is_ready else "draft"
    lines = [
        f'spec_version: "1.2"\ntool_id: {format_line(draft.name)}\nversion: "{version}"\nstatus: {status}\nmeta:\n'
        f"  name: {format_line(draft.title)}\n  description: {format_text(draft.description, 1)}\n"
        f"  owner: {format_line(around.owner)}"
    ]
    if heading.tags:
        lines.append(f"  tags: [{', '.join(map(format_flow_item, dict.fromkeys(heading.tags)))}]")
    if around.date and operation.is_deprecated:
        lines.append(f"  last_updated: {format_line(around.date)}")
    lines.append(f"type: {'retrieval' if draft.is_reading else 'action'}\ninterface:\n  input:")
    append_mapping(draft.request.schema, 2, lines, memo)
    lines.append("  output:")
    append_cached_mapping(draft.response.schema, 2, lines, memo)
    if draft.response.errors:
        lines.append("error_codes:")
        append_mapping(draft.response.errors, 1, lines, memo)
    lines.append("transport:")
    _write_transport(draft.transport, lines, memo)
    lines.append(_write_guidance(draft, around.api))
    _write_extension(draft, lines, memo)
    return join_front_matter(lines, _write_body(draft, around))


def _write_transport(transport: JsonObject, lines: list[str], memo: Memo) -> None:
    credentials = transport["credentials"]
    append_mapping({key: value for key, value in transport.items() if key != "credentials"}, 1, lines, memo)
    lines.append("  credentials:")
    append_cached_mapping(credentials, 2, lines, memo)


def _write_extension(draft: OperationDraft, lines: list[str], memo: Memo) -> None:
    """Writes the properties of an operation that the canonical model has and AML has no keys for."""
    lines.append(f"x-ferrule:\n  tool_kind: {KIND}")
    if not draft.is_reading:
        facts = encode_facts(draft.facts)
        if facts:
            lines.append("  facts:")
            append_mapping(facts, 2, lines, memo)
    heading, access = draft.operation.heading, draft.access
    named = f"operation_id: {format_line(heading.operation_id)}\n      " if heading.operation_id else ""
    lines.append(
        f"  inferred_facts: [{_INFERRED}]\n  external_mappings:\n    - source: {SOURCE}\n      {named}"
        f"method: {format_line(heading.method)}\n      path: {format_line(heading.template)}\n"
        f"      server_url: {format_line(draft.address.url)}\n"
        f"      security_scheme_refs: [{', '.join(map(format_flow_item, access.refs))}]"
    )
    if draft.paging:
        lines.append("      pagination:")
        append_mapping({**draft.paging, "inferred": True}, 4, lines, memo)


def _write_guidance(draft: OperationDraft, api: str) -> str:
    wanted = draft.title[:1].lower() + draft.title[1:] if not draft.title[:2].isupper() else draft.title
    where = api or "the service"
    if draft.is_reading:
        use, avoid = (
            f"The task needs what {where} gives for: {wanted}",
            "The answer is known already from an earlier call",
        )
    else:
        use, avoid = (
            f"The user wants this done in {where}: {wanted}",
            "Nobody asked for it, or the arguments are guessed",
        )
    made = f"use_guidance:\n  use_when:\n    - {format_line(use)}\n  avoid_when:\n    - {format_line(avoid)}"
    if draft.is_reading:
        return made
    effects = _EFFECTS.get(draft.operation.heading.method, _EFFECTS["POST"]).format(api=where)
    return f"{made}\n  side_effects: {format_line(effects)}"


def _write_body(draft: OperationDraft, around: DocumentContext) -> str:
    """Returns the Markdown below the front matter: the full description, and an example."""
    operation = draft.operation
    heading = operation.heading
    parts: list[str] = []
    whole = operation.description.strip()
    if whole and (len(whole) > len(draft.description) or "\n" in whole):
        parts += ["# Purpose", shorten_text(whole, 8_000)]
    of = " ".join(filter(None, (around.api, around.api_version)))
    notes = [f"From `{heading.method} {heading.template}`{f' of {of}' if of else ''}."]
    if operation.docs_url:
        notes.append(f"More: {operation.docs_url}")
    example = _find_example(draft)
    if example:
        notes.append(f"An example of what is sent:\n\n```json\n{example}\n```")
    parts += ["# Notes", "\n\n".join(notes)]
    return _CONTROL.sub("", "\n\n".join(parts))


def _find_example(draft: OperationDraft) -> str:
    body = draft.operation.body
    if body is None:
        return ""
    for media in body.media:
        if media.media_type == draft.request.media_type:
            for example in media.examples:
                written = format_long_value(example)
                if written:
                    return written
    return ""


def format_long_value(value: object) -> str:
    """Formats a value as JSON; returns nothing for a long one."""
    short = format_value(value)
    if short or not isinstance(value, dict | list):
        return short
    try:
        written = json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return ""
    return written if len(written) <= _MOST_EXAMPLE else ""


def find_owner(info: JsonObject, namespace: str) -> str:
    """Returns the owner of the tools: the document's contact, else the namespace."""
    contact = info.get("contact")
    name = contact.get("name") if isinstance(contact, dict) else None
    if isinstance(name, str) and name.strip():
        return shorten_text(" ".join(name.split()), 80)
    return namespace
