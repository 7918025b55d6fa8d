"""Plans stubs: tools with their names, types and contracts, which a language writes as source.

Names of files and types are legal, distinct and as stable as can be: a tool's own name gives them, and other tools matter
only where they want the same (`identifiers.py`). Nothing is resolved or looked up here that a definition does not say.
Eight digits stand for a tool's contract, that is for what it takes, gives and is given: they change with those types and their
limits, not with descriptions, defaults or examples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from ferrule.contracts.language import Injected, Language, Project, StubKind, StubPlan, ToolPlan
from ferrule.contracts.type_tree import Alias, Enumeration, RecordType, TypeTree, Union
from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake
from ferrule.definitions.stubs.runs import ToolNames
from ferrule.definitions.stubs.tree import make_type_tree
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.canonical import digest_of_tool
from ferrule.model.native_definition import CONFIG, LOGGER, entries_of
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.schema.internal_fields import model_schema

_DIGITS = 8


def digest_contract(takes: TypeTree, gives: TypeTree | None, inject: Sequence[Injected] = ()) -> str:
    """Returns the digits of what a tool takes and gives, by types and limits, and of what it is given beside its input."""
    said = [_strip_words(takes), [] if gives is None else _strip_words(gives), inject]
    return sha256(repr(said).encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def _strip_words(tree: TypeTree) -> list[object]:
    """Returns a tree without its descriptions, defaults and examples."""
    found: list[object] = []
    for each in tree.declarations:
        found.append(each.words.limits)
        match each:
            case RecordType(members=members):
                shapes = [(one.name, one.type, one.is_required, one.words.limits) for one in members]
                found += [each.openness, each.extra, shapes]
            case Enumeration(choices=choices):
                found.append(choices)
            case Union(variants=variants):
                found.append([(one.type, one.tags) for one in variants])
            case Alias():
                found.append(each.type)
        found.append(each.name)
    return found


Progress = Callable[[int, int], None]
"""Told how many tools are done, and how many there are."""

ROOTS = ("Input", "Output")
"""What is put after a tool's type name for the types of what it takes and gives."""
_ELSEWHERE = frozenset({"mcp", "oxp_server"})
"""Dialects of imported tools, which another server runs."""
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LONGEST_STEM, _LONGEST_TYPE = 60, 80
"""Some disks take names of 143 bytes, and stubs put something behind these."""


class StubChoice(NamedTuple):
    """The choices beside the tools, now and in earlier runs."""

    kind: StubKind = "implementation"
    is_project: bool = False
    flavour: str = ""
    kept: Mapping[str, ToolNames] = {}
    """What tools were called before, by their ids: they are still called so, and no others are. Of a tool in several versions
    nobody knows which of them was."""


def plan_stubs(
    tools: Sequence[Tool],
    project: Project,
    language: Language,
    choice: StubChoice,
    *,
    names: Mapping[str, str] | None = None,
    progress: Progress = lambda done, total: None,
) -> StubPlan:
    """Returns the plan of some tools. `names`: what a caller calls each by, by its id, where that is not its name."""
    versions = Counter(tool.tool_id for tool in tools)
    kept = {tool_id: names for tool_id, names in choice.kept.items() if versions[tool_id] < 2}
    keys = _find_keys(tools, kept)
    symbols = _name_symbols(tools, keys)
    stems = _name_stems(tools, keys, language, kept)
    types = _name_types(tools, symbols, language, project.acronyms, kept)
    taken = set(language.reserved_types)
    taken.update(each for name in types.values() for each in _list_declared(name, language))
    planned: list[ToolPlan] = []
    for number, (tool, key, symbol) in enumerate(zip(tools, keys, symbols, strict=True)):
        progress(number, len(tools))
        called = (names or {}).get(tool.tool_id, tool.name)
        planned.append(_plan_tool(tool, called, stems[key], types[symbol], choice.kind, project.acronyms, taken))
    return StubPlan(
        kind=choice.kind,
        project=project,
        tools=tuple(planned),
        is_project=choice.is_project,
        flavour=choice.flavour or next(iter(language.flavours), ""),
    )


def _find_keys(tools: Sequence[Tool], kept: Mapping[str, ToolNames]) -> list[str]:
    """Finds a key for each tool's files: its name where no other has or had it, else with its namespace, id or version."""
    ways: tuple[Callable[[Tool], str], ...] = (
        lambda tool: tool.name,
        lambda tool: f"{tool.namespace}.{tool.name}",
        lambda tool: tool.tool_id,
        lambda tool: f"{tool.tool_id}@{tool.version}",
        lambda tool: f"{tool.namespace}.{tool.name}@{tool.version}#{digest_of_tool(tool)}",
    )
    stems = Style(snake, longest=_LONGEST_STEM)
    owners = {names.stem: tool_id for tool_id, names in kept.items()}
    keys = [ways[0](tool) for tool in tools]
    for way in ways[1:]:
        count = Counter(keys)
        keys = [
            key if count[key] == 1 and owners.get(stems.make(key), tool.tool_id) == tool.tool_id else way(tool)
            for key, tool in zip(keys, tools, strict=True)
        ]
    return keys


def _name_stems(
    tools: Sequence[Tool], keys: Sequence[str], language: Language, kept: Mapping[str, ToolNames]
) -> dict[str, str]:
    """Names each tool's files, by its key."""
    style = Style(snake, longest=_LONGEST_STEM)
    held = {
        key: kept[tool.tool_id].stem
        for tool, key in zip(tools, keys, strict=True)
        if tool.tool_id in kept and kept[tool.tool_id].stem not in language.reserved_stems
    }
    free = [key for key in keys if key not in held]
    return held | identifiers(free, style, language.reserved_stems | {each.stem for each in kept.values()})


def _name_symbols(tools: Sequence[Tool], keys: Sequence[str]) -> list[str]:
    """Finds a symbol for each tool's types: an ADL tool's `name` where it is legal in code (ADL-43), else its key."""
    wanted = [
        tool.title if tool.dialect == "adl" and tool.title and _SYMBOL.fullmatch(tool.title) else key
        for tool, key in zip(tools, keys, strict=True)
    ]
    count = Counter(wanted)
    return [each if count[each] == 1 else key for each, key in zip(wanted, keys, strict=True)]


def _name_types(
    tools: Sequence[Tool],
    symbols: Sequence[str],
    language: Language,
    acronyms: frozenset[str],
    kept: Mapping[str, ToolNames],
) -> dict[str, str]:
    """Returns a type name for each symbol, so that what a tool's stubs declare is neither another's nor the language's. A
    name that was given before stays, but for how acronyms are written in it."""
    style = Style(pascal, acronyms=acronyms, longest=_LONGEST_TYPE)
    held: dict[str, str] = {}
    for tool, symbol in zip(tools, symbols, strict=True):
        if tool.tool_id in kept:
            before, now = kept[tool.tool_id].type_name, style.make(symbol)
            held[symbol] = now if now.lower() == before.lower() else before
    # Other acronyms may have made two kept names one; then all are named anew.
    if len(set(held.values())) < len(held) or _find_clashes(held.values(), language):
        held = {}
    free = [symbol for symbol in symbols if symbol not in held]
    blocked = {*held.values(), *(each.type_name for each in kept.values())}
    given = held | identifiers(free, style, blocked)
    # A new name may clash in its turn: a tool's stubs declare several names.
    while clashes := _find_clashes(given.values(), language).difference(held.values()):
        blocked |= clashes
        given = held | identifiers(free, style, blocked)
    return given


def _find_clashes(names: Iterable[str], language: Language) -> set[str]:
    """Finds type names that give way: `NewGet` beside `Get`, where both would declare `NewGetTool`."""
    owners = dict.fromkeys(language.reserved_types, "")
    found: set[str] = set()
    for name in sorted(names, key=lambda each: (len(each), each)):
        declared = _list_declared(name, language)
        if any(each in owners for each in declared):
            found.add(name)
        owners.update(dict.fromkeys(declared, name))
    return found


def _list_declared(name: str, language: Language) -> list[str]:
    """Returns the names that a tool's stubs may declare beside its trees' own."""
    beginnings: tuple[str, ...] = getattr(language, "reserved_beginnings", ())
    return [f"{first}{name}{end}" for first in ("", *beginnings) for end in (*ROOTS, *language.reserved_endings)]


def _plan_tool(
    tool: Tool,
    called: str,
    stem: str,
    type_name: str,
    kind: StubKind,
    acronyms: frozenset[str],
    taken: set[str],
) -> ToolPlan:
    # A caller never sends the fields that the runtime fills in; the function that runs the tool gets them.
    input_schema = model_schema(tool) if kind == "client" else tool.runtime_input_schema or tool.input_schema
    output_schema = tool.output_schema
    builtin = tool.name if tool.dialect == "adl" and tool.name in BUILTIN_TOOLS else ""
    inject = () if builtin else list_injected(tool)
    takes = _make_tree(input_schema, f"{type_name}Input", acronyms, taken)
    gives = _make_tree(output_schema, f"{type_name}Output", acronyms, taken) if output_schema is not None else None
    return ToolPlan(
        tool_id=tool.tool_id,
        name=called,
        stem=stem,
        type_name=type_name,
        title=tool.title or "",
        description=tool.description,
        tags=tool.tags,
        version=tool.version or "",
        digest=f"sha256:{digest_of_tool(tool)}",
        contract=digest_contract(takes, gives, inject),
        input=takes,
        output=gives,
        input_schema=input_schema,
        output_schema=output_schema,
        inject=inject,
        builtin=builtin,
        builtin_config=_read_config(tool) if builtin else {},
    )


def _make_tree(schema: msgspec.Raw, name: str, acronyms: frozenset[str], taken: set[str]) -> TypeTree:
    taken.discard(name)  # `plan_stubs` reserved it for this very tree
    tree = make_type_tree(msgspec.json.decode(schema), name, acronyms=acronyms, taken=taken)
    taken.add(name)
    return tree


def runs_without_code(tool: Tool) -> bool:
    """Tells whether Ferrule does the work of a tool itself: its definition names a transport, a person or another server."""
    if tool.dialect in _ELSEWHERE:
        return True
    payload = decode_raw(tool.payload)
    if tool.dialect != "aml" or not isinstance(payload, dict):
        return False
    return payload.get("type") == "human" or isinstance(payload.get("transport"), dict)


def list_injected(tool: Tool) -> tuple[Injected, ...]:
    """Lists what a tool is given, in the order of its definition. A path behind a section or a service (`config.mail.from`,
    `repo.reader`) is for the person to take out of it (ADL-32)."""
    found: dict[Injected, None] = {}
    for entry in entries_of(tool) or ():
        first, *rest = entry.split(".")
        if first == LOGGER:
            found[Injected("logger")] = None
        elif first == CONFIG:
            found[Injected("section", rest[0]) if rest else Injected("config")] = None
        else:
            found[Injected("service", first)] = None
    return tuple(found)


def _read_config(tool: Tool) -> JsonObject:
    payload = msgspec.json.decode(tool.payload)
    config = payload.get("config") if isinstance(payload, dict) else None
    return config if isinstance(config, dict) else {}
