"""The sealed catalog: one run of bytes with an index in front, made by a build and trusted by a runtime.

A field that a dialect's own record holds already is stored once; `_FIELD_PATHS` says where. Knows no dialect and no
workspace.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ferrule.errors import CatalogError, SealError
from ferrule.model.tool import Record, Tool
from ferrule.model.value import JsonObject

_FIELD_PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "aml": {
        "input_schema": ("interface", "input"),
        "output_schema": ("interface", "output"),
        "credentials": ("transport", "credentials"),
    },
    "adl": {"input_schema": ("schema",)},
    "oxp": {"input_schema": ("input_schema", "parameters"), "output_schema": ("output_schema",)},
    "agent_tool": {
        "input_schema": ("input_contract", "model_input_schema"),
        "output_schema": ("output_contract", "structured_schema"),
    },
}
_ABSENT = msgspec.Raw(b"")


def fields_in_payload(dialect: str, payload: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    """Returns the parts of a payload that are also fields of the tool, as they are written there, by field."""
    paths = _FIELD_PATHS.get(dialect, {})
    if not paths:
        return {}
    try:
        opened = _decoder(dialect).decode(payload)
    except msgspec.ValidationError:  # something else stands where a mapping is usual
        return {}
    found: dict[str, msgspec.Raw] = {}
    for field, path in paths.items():
        part = opened
        for step in path:
            part = getattr(part, _slot(step))
        if part is not _ABSENT:
            found[field] = part
    return found


@cache
def _decoder(dialect: str) -> msgspec.json.Decoder[Any]:
    """Makes a decoder that reads nothing but those fields; the rest of the payload is skipped."""
    tree: dict[str, Any] = {}
    for path in _FIELD_PATHS[dialect].values():
        branch = tree
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = None
    return msgspec.json.Decoder(_struct(tree))


def _struct(tree: JsonObject) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for step, below in tree.items():
        if below is None:
            fields.append((_slot(step), msgspec.Raw, msgspec.field(default=_ABSENT, name=step)))
        else:
            kind = _struct(below)
            fields.append((_slot(step), kind, msgspec.field(default_factory=kind, name=step)))
    return msgspec.defstruct("Opened", fields)


def _slot(step: str) -> str:
    return f"at_{step}"


MAGIC = b"FERRULE\x01"
HEADER = struct.Struct("<8s32s64s64sQQ")
"""Magic, public key, seal, seal of the documentation, length of the payloads, length of the documentation."""
COUNTS = struct.Struct("<4I")
"""Tools, entries, keys, bytes of key text."""
ENTRY = struct.Struct("<II32s")
"""Where a payload begins, how long it is, its SHA-256."""
KEY = struct.Struct("<II")
"""Where a key's text ends, the entry it leads to."""
_TWO_KEYS = struct.Struct("<4I")
SEAL_PREFIX = b"ferrule catalog 1\n"
DOCUMENTATION_PREFIX = b"ferrule documentation 1\n"
ID, NAME, ALIAS, RECORD = b"i", b"n", b"a", b"r"


_OPTIONAL = ("runtime_input_schema", "output_schema", "credentials")
# msgspec takes no raw JSON beside None, so a tool is decoded into a twin whose optional parts are raw or absent.
_Twin = msgspec.defstruct(
    "_Twin",
    [
        (
            field.name,
            msgspec.Raw if field.name in _OPTIONAL else field.type,
            _ABSENT if field.name in _OPTIONAL else field.default,
        )
        for field in msgspec.structs.fields(Tool)
        if not field.required
    ]
    + [(field.name, field.type) for field in msgspec.structs.fields(Tool) if field.required]
    + [("at_home", tuple[str, ...], ())],
    kw_only=True,
    gc=False,
)
_decode_twin = msgspec.json.Decoder(_Twin).decode
_decode_record = msgspec.json.Decoder(Record).decode
_FIELDS = Tool.__struct_fields__
_REBUILD = "build it again with 'ferrule build'"


def key_text(kind: bytes, *parts: str) -> bytes:
    """Encodes a key of the index. Parts end in two zero bytes, which no part contains, so a prefix never ends inside
    one."""
    text = kind
    for part in parts:
        text += part.encode().replace(b"\0", b"\0\xff") + b"\0\0"
    return text


class Tools:
    """The tools of a catalog in their order (namespace, name, newest first). Each is decoded when reached."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __len__(self) -> int:
        return len(self._catalog)

    def __getitem__(self, number: int) -> Tool:
        if not 0 <= number < len(self._catalog):
            raise IndexError(number)
        return self._catalog.tool_at(number)

    def __iter__(self) -> Iterator[Tool]:
        return (self._catalog.tool_at(number) for number in range(len(self._catalog)))


class Catalog:
    """An immutable set of compiled tools, agents, roles and other records. Safe to share between threads."""

    __slots__ = (
        "_documentation",
        "_documentation_bytes",
        "_entries",
        "_key_ends",
        "_key_text",
        "_payloads",
        "_sealed",
        "counts",
        "digest",
        "signer",
    )

    def __init__(self, sealed: memoryview, documentation: memoryview, digest: str, signer: bytes) -> None:
        self._sealed = sealed
        self._documentation_bytes = documentation
        self._documentation: dict[str, dict[str, str]] | None = None
        self.digest = digest
        """SHA-256 of all payloads and their index, in hex. Equal digests mean equal meaning."""
        self.signer = signer
        """The public key whose seal the catalog carries."""
        tools, entries, keys, text = COUNTS.unpack_from(sealed)
        self.counts = (tools, entries, keys)
        self._entries = COUNTS.size
        self._key_ends = self._entries + entries * ENTRY.size
        self._key_text = self._key_ends + keys * KEY.size
        self._payloads = self._key_text + text

    @classmethod
    def load(cls, path: str | os.PathLike[str], trusted_keys: Iterable[bytes]) -> Catalog:
        """Loads the catalog of a file, if its seal is intact and made with one of these public keys. Raises
        CatalogError."""
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise CatalogError(f"the catalog {os.fspath(path)} cannot be read: {error.strerror}") from None
        return cls.from_bytes(data, trusted_keys, os.fspath(path))

    @classmethod
    def from_bytes(cls, data: bytes, trusted_keys: Iterable[bytes], shown: str = "catalog") -> Catalog:
        """Loads the catalog in these bytes. `shown` names it in messages. Raises CatalogError."""
        if len(data) < HEADER.size or not data.startswith(MAGIC):
            raise CatalogError(f"{shown} is not a Ferrule catalog; {_REBUILD}")
        _, signer, seal, documentation_seal, sealed_length, documentation_length = HEADER.unpack_from(data)
        if len(data) != HEADER.size + sealed_length + documentation_length or sealed_length < COUNTS.size:
            raise SealError(f"{shown} is truncated or has data appended; {_REBUILD}")
        # The key is checked before the seal: a valid seal of an unknown key proves nothing.
        if signer not in set(trusted_keys):
            raise SealError(
                f"{shown} is sealed with a key this workspace does not trust;"
                f" add the key to ferrule.pub if you know whose it is, or {_REBUILD}"
            )
        view = memoryview(data)
        sealed = view[HEADER.size : HEADER.size + sealed_length]
        documentation = view[HEADER.size + sealed_length :]
        digest = hashlib.sha256(sealed)
        texts = DOCUMENTATION_PREFIX + digest.digest() + hashlib.sha256(documentation).digest()
        try:
            key = Ed25519PublicKey.from_public_bytes(signer)
            key.verify(seal, SEAL_PREFIX + digest.digest())
            key.verify(documentation_seal, texts)
        except (InvalidSignature, ValueError):
            raise SealError(f"{shown} was changed after it was sealed, so it is not used; {_REBUILD}") from None
        return cls(sealed, documentation, digest.hexdigest(), signer)

    def __len__(self) -> int:
        """Returns how many tools there are."""
        return int(self.counts[0])

    @property
    def tools(self) -> Tools:
        """Every tool, decoded one by one as they are reached."""
        return Tools(self)

    def tool(self, tool_id: str, version: str | None = None) -> Tool | None:
        """Returns the tool of that id: that version of it, else the newest available one."""
        return self._choose(key_text(ID, tool_id), version)

    def find(self, name: str, namespace: str | None = None, version: str | None = None) -> Tool | None:
        """Returns the tool callable by that name or alias: that version, else the newest available one (else the
        newest).

        Raises CatalogError when the name means tools of several namespaces and none is given.
        """
        for kind in (NAME, ALIAS):
            prefix = key_text(kind, name) if namespace is None else key_text(kind, name, namespace)
            found = self._choose(prefix, version)
            if found is not None and namespace is None:
                self._refuse_ambiguity(kind, name)
            if found is not None:
                return found
        return None

    def positions_of(self, tool_id: str) -> Iterator[int]:
        """Yields the positions of the versions of a tool (for `tool_at`, `digest_at`): available ones first, then
        newest first."""
        return self._under(key_text(ID, tool_id))

    def tools_named(self, name: str) -> Iterator[Tool]:
        """Yields every version of every tool that has this name or alias, in any namespace."""
        for kind in (NAME, ALIAS):
            yield from (self.tool_at(number) for number in self._under(key_text(kind, name)))

    def record(self, kind: str, record_id: str, version: str | None = None) -> Record | None:
        """Returns the agent, role or other record of that id: that version, else the newest."""
        for number in self._under(key_text(RECORD, kind, record_id)):
            record = self.record_at(number)
            if version is None or record.version == version:
                return record
        return None

    def records(self, kind: str | None = None) -> Iterator[Record]:
        """Yields everything that is no tool, or only the records of one kind."""
        if kind is None:
            yield from (self.record_at(number) for number in range(self.counts[0], self.counts[1]))
            return
        yield from (self.record_at(number) for number in self._under(key_text(RECORD, kind)))

    def digest_of(self, tool: Tool) -> str:
        """Returns the content digest of one of the catalog's own tools, in hex."""
        for number in self._under(key_text(ID, tool.tool_id)):
            found = self.tool_at(number)
            if (found.version, found.namespace, found.name) == (tool.version, tool.namespace, tool.name):
                return self.digest_at(number)
        raise CatalogError(f"the tool {tool.tool_id!r} is not of this catalog")

    def documentation(self, tool: Tool) -> dict[str, str]:
        """Returns editorial text about a tool, for people: section to Markdown. Never part of a payload."""
        if self._documentation is None:
            self._documentation = msgspec.json.decode(self._documentation_bytes, type=dict[str, dict[str, str]])
        return self._documentation.get(documentation_key(tool), {})

    def tool_at(self, number: int) -> Tool:
        """Decodes the tool at a position. Its schemas stay bytes of the catalog."""
        twin: Any = _decode_twin(self._payload(number))
        fields = {name: part for name in _FIELDS if (part := getattr(twin, name)) is not _ABSENT}
        if twin.at_home:
            # `canonical` left these out, since the payload holds them word for word.
            paths = fields_in_payload(twin.dialect, twin.payload)
            fields.update((field, paths[field]) for field in twin.at_home)
        return Tool(**fields)

    def record_at(self, number: int) -> Record:
        """Decodes the record at a position (records follow the tools)."""
        return _decode_record(self._payload(number))

    def digest_at(self, number: int) -> str:
        """Returns the content digest at a position, in hex."""
        digest: bytes = ENTRY.unpack_from(self._sealed, self._entries + number * ENTRY.size)[2]
        return digest.hex()

    def _payload(self, number: int) -> memoryview:
        offset, length, _ = ENTRY.unpack_from(self._sealed, self._entries + number * ENTRY.size)
        start = self._payloads + offset
        return self._sealed[start : start + length]

    def _choose(self, prefix: bytes, version: str | None) -> Tool | None:
        for number in self._under(prefix):
            tool = self.tool_at(number)
            if version is None or tool.version == version:
                return tool
        return None

    def _refuse_ambiguity(self, kind: bytes, name: str) -> None:
        prefix = key_text(kind, name)
        namespaces = {self._key(at)[len(prefix) :].partition(b"\0\0")[0] for at in self._positions(prefix)}
        if len(namespaces) > 1:
            listed = ", ".join(sorted(namespace.decode() for namespace in namespaces))
            raise CatalogError(f"{name!r} means tools of several namespaces ({listed}); name one of them")

    def _under(self, prefix: bytes) -> Iterator[int]:
        """Yields entries whose keys begin so, in the order of the index (available ones first, then newest first)."""
        for position in self._positions(prefix):
            yield KEY.unpack_from(self._sealed, self._key_ends + position * KEY.size)[1]

    def _positions(self, prefix: bytes) -> Iterator[int]:
        low, high = 0, self.counts[2]
        while low < high:
            middle = (low + high) // 2
            if self._key(middle) < prefix:
                low = middle + 1
            else:
                high = middle
        while low < self.counts[2] and self._key(low).startswith(prefix):
            yield low
            low += 1

    def _key(self, position: int) -> bytes:
        # A key's text begins where the one before it ends.
        at = self._key_ends + position * KEY.size
        if position:
            start, _, end, _ = _TWO_KEYS.unpack_from(self._sealed, at - KEY.size)
        else:
            start, end = 0, KEY.unpack_from(self._sealed, at)[0]
        return bytes(self._sealed[self._key_text + start : self._key_text + end])


def documentation_key(tool: Tool) -> str:
    """Returns the key of a tool's documentation."""
    return f"{tool.namespace}/{tool.tool_id}@{tool.version or ''}"
