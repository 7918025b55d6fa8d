"""Handles the four definition dialects as formats: documents with several tools, read and written as a unit.

A document that allows only some characters in ids gets distinct ones, and a tool with that id of its own keeps it. `convert`
uses this module beside the formats of `definitions/formats`. It does not know files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.dialect import Dialect
from ferrule.contracts.format import DocumentTool, Reading, WriteOptions, Writing
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.linkage import REFERRED_BY, link_records
from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.definitions.dialects import adl_emit, agent_tool_emit, aml_emit, oxp_emit
from ferrule.definitions.dialects.agent_tool import IDS
from ferrule.definitions.dialects.writing import WrittenTool
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Source
from ferrule.model.loss import Loss
from ferrule.model.tool import Record, Tool
from ferrule.model.value import JsonObject, JsonValue, Path
from ferrule.workspace.convert.origin import restore_original
from ferrule.workspace.parts import dialects


def assign_distinct_ids(
    tools: Sequence[Tool],
    wanted: Callable[[Tool], str],
    version: Callable[[Tool], str],
    marked: Callable[[str, str], Iterator[str]],
) -> dict[int, str]:
    """Returns an id for each tool, by the tool object; versions of one tool share it. `marked`: yields distinguishable ids for
    a name and the tool's own identity."""
    given: dict[int, str] = {}
    owners: dict[str, tuple[str, str]] = {}
    used: set[tuple[str, str]] = set()
    fitting = {id(tool): wanted(tool) for tool in tools}

    def is_free(name: str, tool: Tool) -> bool:
        owner = (tool.namespace, tool.tool_id)
        return owners.get(name, owner) == owner and (name, version(tool)) not in used

    def rank(tool: Tool) -> tuple[bool, str, str, str]:
        is_own = fitting[id(tool)] in (tool.tool_id, tool.name)
        return (not is_own, tool.namespace, tool.tool_id, tool.version or "")

    for tool in sorted(tools, key=rank):
        name = fitting[id(tool)]
        if not is_free(name, tool):
            seed = f"{tool.namespace}\0{tool.tool_id}"
            seeds = (seed, f"{seed}\0{tool.version}")
            name = next(one for seed in seeds for one in marked(name, seed) if is_free(one, tool))
        given[id(tool)] = name
        owners[name] = (tool.namespace, tool.tool_id)
        used.add((name, version(tool)))
    return given


UNWRITTEN = "FER-5"
_AML_IDS = NameRule("a-z0-9_-", 64)
_IDENTIFIERS = NameRule("a-zA-Z0-9_", 128)


class NativeWriting(NamedTuple):
    """Tools in a dialect."""

    value: JsonValue
    losses: tuple[Loss, ...]
    left_out: tuple[Finding, ...]
    demands: tuple[Finding, ...] = ()
    """Required values that no definition states."""


class NativeFormat:
    """A definition dialect as a format."""

    def __init__(
        self, name: str, title: str, dialect: str, make: Callable[[Sequence[Tool], WriteOptions], NativeWriting]
    ) -> None:
        self.name = name
        self.title = title
        self.make = make
        """Writes tools, and tells what is still to be written."""
        self._dialect = dialect

    @property
    def dialect(self) -> Dialect:
        """The dialect behind it."""
        return dialects.get(self._dialect)

    def detect(self, value: JsonValue) -> bool:
        """Returns True when a document is of this dialect."""
        return any(self.dialect.detect(document) for document in _list_documents(value))

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """Returns the tools of a document, each in the form it had before it was converted."""
        found: list[tuple[Tool, Path]] = []
        records: list[Record] = []
        findings: list[Finding] = []
        for document in _list_documents(value):
            definitions, outer = self.dialect.definitions(document) if document.is_parsed else ([], [])
            findings += outer
            for definition in definitions:
                try:
                    compiled = self.dialect.compile(document, definition, namespace)
                except Exception:  # dialects promise nothing about definitions with errors
                    message = "the definition has errors; 'ferrule check' tells which"
                    findings.append(Finding(UNWRITTEN, definition.path, message))
                    continue
                found += [(tool, definition.path) for tool in compiled.tools]
                records += compiled.records
        tools = link_records([tool for tool, _ in found], records)
        places = (path for _, path in found)
        return Reading(
            tuple(DocumentTool(restore_original(tool), path) for tool, path in zip(tools, places, strict=True)),
            tuple(findings),
        )

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """Returns a document with these tools; of AML, a mapping of file names to texts."""
        made = self.make(tools, options)
        return Writing(made.value, made.losses, made.left_out)


def _list_documents(value: JsonValue) -> Iterator[Document]:
    """Yields a document, or files with their texts, as AML is written."""
    if (
        isinstance(value, dict)
        and value
        and all(isinstance(one, str) and name.endswith(".md") for name, one in value.items())
    ):
        for name, text in value.items():
            yield from read(Source(name, str(text).encode("utf-8", "surrogatepass")))
    else:
        yield Document(Source("tools.json", b""), "json", "", 1, value)


class _Writer:
    """Writes one tool after the other; one that cannot be written takes no other with it."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.left_out: list[Finding] = []
        self.losses: list[Loss] = []
        self.demands: list[Finding] = []
        self.tools: list[Tool] = []
        seen: set[tuple[str, str, str | None]] = set()
        for tool in tools:
            identity = (tool.namespace, tool.tool_id, tool.version)
            if identity in seen:
                message = f"{tool.tool_id} is there twice in this version, and a namespace has one of each"
                self.left_out.append(Finding(UNWRITTEN, (tool.tool_id,), message, hint="convert one of them"))
            else:
                seen.add(identity)
                self.tools.append(tool)

    def write_each(self, write: Callable[[Tool], WrittenTool]) -> Iterator[tuple[Tool, JsonObject]]:
        """Yields the tools that could be written, with what was."""
        for tool in self.tools:
            try:
                written = write(tool)
            except (ValueError, TypeError, KeyError, RecursionError) as error:  # an unchecked tool may hold anything
                message = f"{tool.tool_id} cannot be written ({type(error).__name__})"
                self.left_out.append(Finding(UNWRITTEN, (tool.tool_id,), message, hint="'ferrule check' may tell why"))
                continue
            self.losses += written.losses
            self.demands += written.demands
            yield tool, written.value

    def finish(self, value: JsonValue) -> NativeWriting:
        """Everything together."""
        return NativeWriting(value, tuple(self.losses), tuple(self.left_out), tuple(self.demands))


def _write_aml(tools: Sequence[Tool], options: WriteOptions) -> NativeWriting:
    gathering = _Writer(tools)
    ids = assign_distinct_ids(gathering.tools, aml_emit.choose_id, aml_emit.choose_version, _AML_IDS.list_marked)

    def write(tool: Tool) -> WrittenTool:
        return aml_emit.emit_tool(tool, ids[id(tool)], tuple(list_native_fields(tool)), options.is_plain)

    files: dict[str, str] = {}
    for _, value in gathering.write_each(write):
        name = f"{value['tool_id']}.tool.md"
        files[name if name not in files else f"{value['version']}/{name}"] = aml_emit.format_file(value)
    return gathering.finish(dict(files))


def _write_adl(tools: Sequence[Tool], options: WriteOptions) -> NativeWriting:
    gathering = _Writer(tools)
    agent, version = adl_emit.choose_agent(gathering.tools, options.title)
    seen: dict[tuple[str, str], Any] = {}
    fresh = {id(tool) for tool in gathering.tools if _contradicts(tool, seen)}

    def choose_id(tool: Tool) -> str:
        return adl_emit.choose_id(tool) + ("_" if id(tool) in fresh and tool.name in BUILTIN_TOOLS else "")

    # No version: a manifest has one version of each tool.
    ids = assign_distinct_ids(gathering.tools, choose_id, lambda tool: "", _IDENTIFIERS.list_marked)

    def write(tool: Tool) -> WrittenTool:
        own, is_fresh = tuple(list_native_fields(tool)), id(tool) in fresh
        return adl_emit.emit_tool(tool, agent, version, ids[id(tool)], own, options.is_plain, is_fresh=is_fresh)

    parts = [value for _, value in gathering.write_each(write)]
    value, demands = adl_emit.join_manifest(parts, agent, version)
    gathering.demands += demands
    return gathering.finish(value)


def _contradicts(tool: Tool, seen: dict[tuple[str, str], object]) -> bool:
    """Returns True for a tool whose services or settings contradict an earlier one, or for the same built-in."""
    if tool.dialect != "adl":
        return False
    said = list_native_fields(tool)
    blocks = (("injected_config", said.get("injected_config")), ("injected_services", said.get("injected_services")))
    groups = [((block, name), one) for block, named in blocks if isinstance(named, dict) for name, one in named.items()]
    if tool.name in BUILTIN_TOOLS:
        groups.append((("builtin", tool.name), tool.tool_id))
    if any(seen.get(key, one) != one for key, one in groups):
        return True
    seen.update(groups)
    return False


def _write_oxp(tools: Sequence[Tool], options: WriteOptions) -> NativeWriting:
    gathering = _Writer(tools)
    parts = assign_distinct_ids(gathering.tools, oxp_emit.choose_tool_part, oxp_emit.choose_version, _list_marked_parts)
    owners: dict[str, set[str]] = {}
    for part in parts.values():
        owners.setdefault(part.partition(".")[2], set()).add(part)

    def write(tool: Tool) -> WrittenTool:
        part = parts[id(tool)]
        is_long = len(owners[part.partition(".")[2]]) > 1
        return oxp_emit.emit_tool(tool, part, tuple(list_native_fields(tool)), options.is_plain, is_long=is_long)

    return gathering.finish({"tools": [value for _, value in gathering.write_each(write)]})


def _list_marked_parts(part: str, seed: str) -> Iterator[str]:
    toolkit, _, short = part.partition(".")
    return (f"{toolkit}.{one}" for one in _IDENTIFIERS.list_marked(short, seed))


def _write_agent_tool(tools: Sequence[Tool], options: WriteOptions) -> NativeWriting:
    gathering = _Writer(tools)

    def write(tool: Tool) -> WrittenTool:
        return agent_tool_emit.emit_tool(tool, tuple(list_native_fields(tool)), options.is_plain)

    records: list[JsonObject] = []
    known: dict[tuple[str, str], JsonObject] = {}
    for tool, value in gathering.write_each(write):
        declaration, *others = agent_tool_emit.split_records(tool, value)
        records.append(declaration)
        records += [record for record in others if _is_new(record, declaration, known)]
    return gathering.finish(list(records))


def _is_new(record: JsonObject, declaration: JsonObject, known: dict[tuple[str, str], JsonObject]) -> bool:
    """Returns False for a record that is there already. One that only has the id of another gets an id of its own."""
    kind = next(kind for kind in REFERRED_BY if IDS[kind] in record)
    key, identity = IDS[kind], record[IDS[kind]]
    number = 1
    # `setdefault` claims a free id for this record; the loop ends there, or at an equal record that has the id.
    while known.setdefault((kind, record[key]), record) != record:
        number += 1
        record[key] = declaration[REFERRED_BY[kind]] = f"{identity}#{number}"
    return known[kind, record[key]] is record


NATIVES: dict[str, NativeFormat] = {
    "aml": NativeFormat("aml", "AML", "aml", _write_aml),
    "adl": NativeFormat("adl", "ADL", "adl", _write_adl),
    "oxp": NativeFormat("oxp", "OXP", "oxp", _write_oxp),
    "agent-tool": NativeFormat("agent-tool", "Agent Tool", "agent_tool", _write_agent_tool),
}
"""By the name that a conversion knows them by."""
