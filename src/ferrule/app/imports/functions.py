"""Turns a provider's list of functions into AML files; each is then bound to the Python function that runs it.

Such a list says nothing about a function's effects, so the extension takes back what AML's type would claim. The extension also
carries the original function, which an export writes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from ferrule.definitions.compiler.locate import build_diagnostic, locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.extension import MAPPINGS, ORIGIN, build_extension, decode_raw
from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.dialects.aml_emit import format_file
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.entries import UNREAD
from ferrule.definitions.formats.legal_names import NameRule, assign_legal_names
from ferrule.model.diagnostic import Diagnostic, Finding, Severity
from ferrule.model.document import Document, Source
from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, is_blank
from ferrule.runtime.functions.inject import to_snake_case
from ferrule.schema.inlining import NotInlinable, unfold

FORMATS_OF = {
    "openai": ("openai-responses", "openai"),
    "anthropic": ("anthropic",),
    "gemini": ("gemini",),
}
"""The formats that a provider's lists may be in; the last one where none is recognised."""
ENDING = ".tool.md"
_IDS = NameRule("a-z0-9_-", 64)
_SHORTEST_ID = 3


class FunctionImport(NamedTuple):
    """The definitions made from a list, with what could not be read."""

    files: dict[str, str]
    """Definitions, by file name."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Functions that cannot be read, at their lines."""
    notes: tuple[str, ...] = ()
    """Details of the list that a definition states less exactly."""
    names: Mapping[str, str] = MappingProxyType({})
    """The name of each definition in the list, by its id."""


def import_list(document: bytes, source: str, provider: str, namespace: str, owner: str = "") -> FunctionImport:
    """Converts a list to definitions. `provider`: `openai`, `anthropic` or `gemini`. `source`: the name to display."""
    documents = read(Source(source, document))
    if not documents or not documents[0].is_parsed:
        return FunctionImport({}, _locate_syntax_errors(documents, source))
    first = documents[0]
    names = FORMATS_OF[provider]
    form = next((one for name in names if (one := FORMATS.get(name)).detect(first.value)), FORMATS.get(names[-1]))
    reading = form.read(first.value, namespace, {})
    findings = list(reading.findings)
    if not reading.tools and (other := _find_other_format(first, names)):
        findings.append(other)
    files: dict[str, str] = {}
    notes: list[str] = []
    ids = _assign_ids([found.tool for found in reading.tools])
    for tool, path in reading.tools:
        try:
            value, told = _build_front_matter(tool, ids[tool.tool_id], namespace, owner or namespace or "nobody")
        except NotInlinable as error:
            hint = "write the schema without that reference"
            findings.append(
                Finding(UNREAD, path, f"the schema of {tool.name!r} cannot be written out: {error}", hint=hint)
            )
            continue
        files[f"{ids[tool.tool_id]}{ENDING}"] = format_file(value)
        notes += told
    called = {ids[tool.tool_id]: tool.name for tool, _ in reading.tools}
    return FunctionImport(files, _locate_findings(first, findings), tuple(notes), called)


def _find_other_format(document: Document, names: tuple[str, ...]) -> Finding | None:
    """Returns a finding that names the provider whose format the list is in; None for no known format."""
    found = next((one for one in FORMATS if one.name not in names and one.detect(document.value)), None)
    if found is None:
        return None
    provider = next((name for name, formats in FORMATS_OF.items() if found.name in formats), None)
    hint = f"'ferrule import {provider}' reads it" if provider else "'ferrule convert FILE --to aml --out DIR' reads it"
    return Finding(UNREAD, (), f"this is written for {found.title}", hint=hint)


def _assign_ids(tools: list[Tool]) -> dict[str, str]:
    """Returns ids that AML accepts, by the ids in the list."""
    named = [msgspec.structs.replace(tool, name=_build_id(tool.name)) for tool in tools]
    return assign_legal_names(named, _IDS)


def _build_id(name: str) -> str:
    plain = _IDS.build_stem(to_snake_case(name).lower())
    return plain if len(plain) >= _SHORTEST_ID else f"tool_{plain}"


def _build_front_matter(tool: Tool, tool_id: str, namespace: str, owner: str) -> tuple[JsonObject, list[str]]:
    """Returns the front matter, and notes on what it states less exactly."""
    found = unfold(decode_raw(tool.input_schema))
    notes = (
        [f"{tool_id}: what it takes contains itself, and is written out {found.levels} levels deep"]
        if found.cut
        else []
    )
    title = to_snake_case(tool.name).replace("_", " ").strip().capitalize() or tool_id
    value: JsonObject = {
        "spec_version": "1.2",
        "tool_id": tool_id,
        "version": "0.1.0",
        "status": "active",
        "meta": {
            "name": title,
            "description": title if is_blank(tool.description) else tool.description,
            "owner": owner,
        },
        "type": "function",
        "interface": {"input": {**found.schema, "type": "object"}, "output": {"type": "object"}},
        "use_guidance": {},
    }
    return {**value, EXTENSION: _build_extension(tool, compile_tool(value, namespace))}, notes


def _build_extension(tool: Tool, back: Tool) -> JsonObject:
    """Returns the facts that differ from what the type `function` implies, and the original function."""
    wanted = msgspec.structs.replace(
        back,
        tool_id=tool.tool_id,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        facts=tool.facts,
        inferred_facts=tool.inferred_facts,
    )
    extension = build_extension(wanted, back, with_origin=False)
    extension[MAPPINGS] = list(native_refs(tool))
    extension[ORIGIN] = {"dialect": tool.dialect, "payload": decode_raw(tool.payload)}
    # Through JSON, so that structs and raw bytes become plain values for the YAML writer.
    return dict(msgspec.json.decode(msgspec.json.encode(extension)))


def _locate_syntax_errors(documents: list[Document], source: str) -> tuple[Diagnostic, ...]:
    if not documents:
        return (Diagnostic(UNREAD, Severity.ERROR, "", source, 1, 1, 1, 1, "the file is empty"),)
    findings = [
        Finding(UNREAD, issue.path, issue.message, hint=issue.hint, line=issue.line, column=issue.column)
        for issue in documents[0].issues
    ]
    return _locate_findings(documents[0], findings)


def _locate_findings(document: Document, findings: list[Finding]) -> tuple[Diagnostic, ...]:
    made = [build_diagnostic(each, document.source.file, None) for each in locate(document, findings)]
    return tuple(sorted(made, key=lambda each: each.order))
