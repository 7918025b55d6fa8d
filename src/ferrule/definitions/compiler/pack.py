"""Packs payloads into the bytes of a catalog. Equal payloads give equal bytes on any machine: everything is sorted,
nothing is dated.

`model/catalog.py` reads what this writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.definitions.compiler.seal import public_half
from ferrule.errors import BuildRefused
from ferrule.model import catalog as layout
from ferrule.model.canonical import canonical as canonical
from ferrule.model.canonical import digest_of as digest_of
from ferrule.model.catalog import key_text
from ferrule.model.semver import Version, parse_version
from ferrule.model.tool import Record, Tool

_LOWEST = Version(-1, 0, 0, False, ())


def pack(
    tools: Iterable[Tool],
    records: Iterable[Record],
    documentation: Mapping[str, Mapping[str, str]],
    key: Ed25519PrivateKey,
) -> bytes:
    """Packs and seals a catalog. Raises BuildRefused when two tools or two records claim one name."""
    ordered = sorted(tools, key=_tool_order)
    others = sorted(records, key=lambda record: (record.kind, record.record_id, *_newest_first(record.version)))
    payloads = [canonical(item) for item in (*ordered, *others)]
    keys = _index_tools(ordered) + _index_records(others, first=len(ordered))
    # Sorted, since a catalog is searched by halving.
    return seal(_pack_region(len(ordered), payloads, sorted(keys)), _encode_documentation(documentation), key)


def seal(region: bytes, documentation: bytes, key: Ed25519PrivateKey) -> bytes:
    """Puts the file together: header with both signatures, payloads, documentation."""
    digest = hashlib.sha256(region).digest()
    # Two signatures, so that documentation can be left unread without leaving the payloads unproven.
    texts = layout.DOCUMENTATION_PREFIX + digest + hashlib.sha256(documentation).digest()
    header = layout.HEADER.pack(
        layout.MAGIC,
        public_half(key),
        key.sign(layout.SEAL_PREFIX + digest),
        key.sign(texts),
        len(region),
        len(documentation),
    )
    return header + region + documentation


def _pack_region(tool_count: int, payloads: list[bytes], keys: list[tuple[bytes, int]]) -> bytes:
    text = b"".join(key for key, _ in keys)
    parts = [layout.COUNTS.pack(tool_count, len(payloads), len(keys), len(text))]
    offset = 0
    for payload in payloads:
        parts.append(layout.ENTRY.pack(offset, len(payload), hashlib.sha256(payload).digest()))
        offset += len(payload)
    end = 0
    for key, number in keys:
        end += len(key)
        parts.append(layout.KEY.pack(end, number))
    return b"".join((*parts, text, *payloads))


def _index_tools(tools: list[Tool]) -> list[tuple[bytes, int]]:
    """Returns the index keys of tools. They end in a rank, so that a caller without a version gets the first under a
    prefix."""
    keys: list[tuple[bytes, int]] = []
    seen: dict[tuple[str, str, str | None], str] = {}
    by_preference = sorted(range(len(tools)), key=lambda number: _preference(tools[number]))
    for rank, number in enumerate(by_preference):
        tool = tools[number]
        name = (tool.namespace, tool.name, tool.version)
        if name in seen:
            version = f" in version {tool.version}" if tool.version else ""
            raise BuildRefused(
                f"the namespace {tool.namespace!r} has two tools named {tool.name!r}{version}"
                f" ({seen[name]} and {tool.tool_id}); rename one of them"
            )
        seen[name] = tool.tool_id
        suffix = rank.to_bytes(4, "big")
        keys.append((key_text(layout.ID, tool.tool_id) + suffix, number))
        keys.append((key_text(layout.NAME, tool.name, tool.namespace) + suffix, number))
        keys += [
            (key_text(layout.ALIAS, alias, tool.namespace) + suffix, number) for alias in sorted(set(tool.aliases))
        ]
    return keys


def _index_records(records: list[Record], first: int) -> list[tuple[bytes, int]]:
    keys: dict[bytes, int] = {}
    for number, record in enumerate(records, start=first):
        rank = (number - first).to_bytes(4, "big")
        keys[key_text(layout.RECORD, record.kind, record.record_id) + rank] = number
    for before, after in pairwise(records):
        if (before.kind, before.record_id, before.version) == (after.kind, after.record_id, after.version):
            raise BuildRefused(f"there are two definitions of the {after.kind} {after.record_id!r}; rename one of them")
    return list(keys.items())


def _tool_order(tool: Tool) -> tuple[Any, ...]:
    return (tool.namespace, tool.name, *_newest_first(tool.version), tool.tool_id)


def _preference(tool: Tool) -> tuple[Any, ...]:
    """Orders available tools first, then newest first; namespace and id make the order total."""
    return (tool.lifecycle != "available", *_newest_first(tool.version), tool.namespace, tool.tool_id, tool.name)


class _Descending:
    """A sort key that turns an order around."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def _newest_first(version: str | None) -> tuple[_Descending, str]:
    return _Descending(parse_version(version) or _LOWEST), version or ""


def _encode_documentation(documentation: Mapping[str, Mapping[str, str]]) -> bytes:
    return msgspec.json.encode({key: dict(texts) for key, texts in documentation.items() if texts}, order="sorted")
