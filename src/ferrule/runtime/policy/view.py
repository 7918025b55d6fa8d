"""Shows one tool as rules see it: names, profile, native ids, and its arguments that hold paths, commands or addresses.

An argument counts by its name (`file_path`, `saveTo.url`), by the format its schema gives it, by the tool's own
`rule_matching_fields`, or because a rule names it. Stands below the matchers; knows nothing of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from ferrule.model.decision import Risk
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import Tool, permission_profile, risk_of
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.facts import depends_on_input

Kind = Literal["path", "command", "url", "resource"]
KINDS: tuple[Kind, ...] = ("path", "command", "url", "resource")

_LAST_WORDS: dict[str, Kind] = {
    **dict.fromkeys(("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"), "path"),
    **dict.fromkeys(("dir", "dirs", "directory", "directories", "folder", "folders", "cwd"), "path"),
    **dict.fromkeys(("url", "urls", "uri", "uris", "href", "link", "links", "endpoint", "webhook"), "url"),
    **dict.fromkeys(("command", "commands", "cmd", "cmds", "cmdline", "commandline", "argv", "script"), "command"),
    **dict.fromkeys(("resource", "resources"), "resource"),
}
_WHOLE_NAMES: dict[str, Kind] = {
    "command_line": "command",
    "shell_command": "command",
    "resource_id": "resource",
    "resource_ids": "resource",
    "resource_ref": "resource",
    "resource_refs": "resource",
    "resource_uri": "resource",
}
_FORMATS: dict[str, Kind] = {
    **dict.fromkeys(("uri", "uri-reference", "iri", "iri-reference", "url", "uri-template"), "url"),
    **dict.fromkeys(("path", "file-path", "directory-path"), "path"),
}
_COMPANIONS = ("args", "arguments", "argv", "parameters")
"""Siblings of a command that hold the rest of its words."""
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_DEPTH = 8
_SHORT = 64


class FieldValue(NamedTuple):
    """One value that a rule may look at."""

    field: str
    """The dotted name of its argument, list positions left out."""
    value: Any
    """A text; a list of words for a command given as one; something else where no text was expected."""


class ArgumentFields:
    """The kinds of one tool's arguments, beyond what their names tell."""

    def __init__(self, schema: object = None, matching_fields: Iterable[object] = (), command: str = "") -> None:
        self._kinds: dict[str, set[Kind]] = {command: {"command"}} if command else {}
        for path, kind in _find_formats(schema, "", _DEPTH):
            self._kinds.setdefault(path, set()).add(kind)
        for entry in matching_fields:
            name = entry.removeprefix("input.") if isinstance(entry, str) else ""
            if name and not find_kinds(name) and name not in self._kinds:
                self._kinds[name] = {"resource"}

    def find_values(self, kind: Kind, arguments: JsonObject, named: tuple[str, ...] = ()) -> list[FieldValue]:
        """Finds every value of a kind among the arguments, or those of the named arguments alone."""
        found: list[FieldValue] = []
        self._collect(arguments, "", kind, named, found)
        return found

    def _collect(self, value: object, path: str, kind: Kind, named: tuple[str, ...], found: list[FieldValue]) -> None:
        if isinstance(value, list):
            for item in value:
                self._collect(item, path, kind, named, found)
        if not isinstance(value, dict):
            return
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            if named:
                is_meant = inner in named
            else:
                is_meant = kind in find_kinds(name) or kind in self._kinds.get(inner, ())
            if is_meant:
                found.extend(_find_leaves(inner, member, kind, value))
            elif isinstance(member, (dict, list)):  # a union takes longer, and this is every argument
                self._collect(member, inner, kind, named, found)


def find_kinds(name: str) -> frozenset[Kind]:
    """Returns the kinds of values that an argument of this name holds."""
    # Callers choose names: a cache of long ones would be theirs to fill.
    return _find_cached_kinds(name) if len(name) <= _SHORT else _find_kinds_by_words(name)


@lru_cache(maxsize=4096)
def _find_cached_kinds(name: str) -> frozenset[Kind]:
    return _find_kinds_by_words(name)


def _find_kinds_by_words(name: str) -> frozenset[Kind]:
    words = [word.lower() for word in _WORD.findall(name.rpartition(".")[2])]
    if not words:
        return frozenset()
    whole = _WHOLE_NAMES.get("_".join(words))
    last = _LAST_WORDS.get(words[-1])
    return frozenset(kind for kind in (whole, last) if kind is not None)


def _find_leaves(path: str, value: object, kind: Kind, siblings: JsonObject) -> Iterator[FieldValue]:
    if kind == "command":
        yield from _find_commands(path, value, siblings)
    elif isinstance(value, list | dict):
        for member in value if isinstance(value, list) else value.values():
            yield from _find_leaves(path, member, kind, siblings)
    elif value is not None:
        yield FieldValue(path, value)


def _find_commands(path: str, value: object, siblings: JsonObject) -> Iterator[FieldValue]:
    if value is None:
        return
    own = path.rpartition(".")[2]
    if own.lower().endswith(("commands", "cmds")) and isinstance(value, list):  # command lines, not the words of one
        # By the name in the singular, a list is the words of one command.
        for member in value:
            yield from _find_commands(own[:-1], member, {})
        return
    rest = next((siblings[name] for name in _COMPANIONS if name != own and name in siblings), None)
    if rest is None or rest == []:
        yield FieldValue(path, value)
    elif isinstance(value, str) and isinstance(rest, list) and all(isinstance(word, str) for word in rest):
        yield FieldValue(path, [value, *rest])
    elif isinstance(value, str) and isinstance(rest, str):
        yield FieldValue(path, f"{value} {rest}")
    else:
        yield FieldValue(path, None)  # the words are unknown


def _find_formats(schema: object, path: str, depth: int) -> Iterator[tuple[str, Kind]]:
    if not isinstance(schema, dict) or not depth:
        return
    stated = schema.get("format")
    if path and isinstance(stated, str) and stated in _FORMATS:
        yield path, _FORMATS[stated]
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        yield from _find_formats(member, f"{path}.{name}" if path else name, depth - 1)
    yield from _find_formats(schema.get("items"), path, depth - 1)
    for key in ("anyOf", "oneOf", "allOf"):
        members = schema.get(key)
        for member in members if isinstance(members, list) else ():
            yield from _find_formats(member, path, depth - 1)


_PLAIN = ("source", "type", "description", "title", "notes", "method")
"""Members of a mapping or transport that are no id."""


class ToolView:
    """The parts of a tool that rules match, the same for every caller and call."""

    __slots__ = (
        "aliases",
        "asks_facts",
        "fields",
        "has_command",
        "is_approval_required",
        "names",
        "native_ids",
        "risk",
        "tool",
    )

    def __init__(self, tool: Tool) -> None:
        payload: Any = msgspec.json.decode(tool.payload)
        payload = payload if isinstance(payload, dict) else {}
        profile = permission_profile(payload)
        schema: Any = msgspec.json.decode(tool.input_schema)
        self.tool = tool
        self.names = (tool.tool_id, tool.name, f"{tool.namespace}.{tool.name}")
        self.aliases = tuple(name for alias in tool.aliases for name in (alias, f"{tool.namespace}.{alias}"))
        self.native_ids = tuple(dict.fromkeys(_find_native_ids(payload)))
        self.risk: Risk = risk_of(tool, payload)
        matching = profile.get("rule_matching_fields")
        self.fields = ArgumentFields(schema, matching if isinstance(matching, list) else (), _find_command_field(tool))
        self.has_command = tool.tool_kind == "shell_command" or _has_command_name(schema)
        self.is_approval_required = tool.approval_required or profile.get("approval_required") is True
        self.asks_facts = depends_on_input(tool.facts)
        """True when some fact is known only once the input is."""

    def list_requirements(self, entry: SurfaceEntry) -> tuple[str, ...]:
        """Lists the sources that require an approval of every call, whatever the rules say."""
        own = ("tool",) if self.is_approval_required and "tool" not in entry.approval_from else ()
        return (*own, *entry.approval_from)


def _find_command_field(tool: Tool) -> str:
    """Returns the argument of a shell tool that its definition points classifiers at: its command, whatever its name."""
    written = tool.facts.classifier_input
    is_pointing = tool.tool_kind == "shell_command" and isinstance(written, str) and written.startswith("input.")
    return written.removeprefix("input.") if is_pointing else ""


def _has_command_name(schema: object) -> bool:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and any("command" in find_kinds(name) for name in properties)


def _find_native_ids(payload: JsonObject) -> Iterator[str]:
    """Yields the tool's names elsewhere: its mappings, its interface's native ids, its transport."""
    mappings = payload.get("external_mappings")
    for mapping in mappings if isinstance(mappings, list) else ():
        if isinstance(mapping, dict):
            yield from _list_ids(mapping, mapping.get("source"))
    interface = payload.get("tool_interface")
    native = interface.get("native_ids") if isinstance(interface, dict) else None
    if isinstance(native, dict):
        yield from _list_ids(native, None)
    transport = payload.get("transport")
    if isinstance(transport, dict):
        yield from _list_ids(transport, transport.get("type"))
    if isinstance(payload.get("id"), str):
        yield payload["id"]


def _list_ids(mapping: JsonObject, source: object) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, str) and key not in _PLAIN:
            yield value
            if isinstance(source, str):
                yield f"{source}:{value}"
