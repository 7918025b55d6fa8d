"""A catalog finds what was packed into it, trusts nobody's seal but those it is told to, and stores a payload's parts once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.definitions.compiler.pack import pack
from ferrule.definitions.compiler.seal import public_half
from ferrule.errors import CatalogError, SealError
from ferrule.model.canonical import canonical, digest_of_tool
from ferrule.model.catalog import HEADER, MAGIC, NAME, Catalog, documentation_key, fields_in_payload, key_text
from ferrule.model.tool import Record, Tool, raw
from tests.model.tools import a_tool

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TRUSTED = (public_half(KEY),)


@pytest.mark.parametrize(
    ("dialect", "payload", "found"),
    [
        (
            "aml",
            {"interface": {"input": {"a": 1}}, "transport": {"credentials": None, "type": "x"}},
            {"input_schema": b'{"a":1}', "credentials": b"null"},
        ),
        ("adl", {"schema": {}, "tool": {}}, {"input_schema": b"{}"}),
        (
            "oxp",
            {"input_schema": {"parameters": [1]}, "output_schema": 2},
            {"input_schema": b"[1]", "output_schema": b"2"},
        ),
        ("agent_tool", {"input_contract": {"other": 1}}, {}),
        ("agent_tool", {"input_contract": "no mapping"}, {}),
        ("unheard_of", {"input_schema": {}}, {}),
    ],
)
def test_the_parts_of_a_payload_that_are_fields_are_found(dialect: str, payload: Any, found: dict[str, bytes]) -> None:
    assert {field: bytes(part) for field, part in fields_in_payload(dialect, raw(payload)).items()} == found


def test_no_key_begins_inside_a_part_of_another() -> None:
    assert not key_text(NAME, "searching").startswith(key_text(NAME, "search"))
    assert not key_text(NAME, "search\0more").startswith(key_text(NAME, "search"))
    assert key_text(NAME, "search", "desk").startswith(key_text(NAME, "search"))


def test_versions_of_a_tool_have_documentation_of_their_own() -> None:
    keys = {documentation_key(a_tool(version=version)) for version in (None, "1.0.0", "2.0.0")}
    assert len(keys) == 3 and "desk/desk.search@1.0.0" in keys


def test_a_file_that_is_none_or_is_no_catalog_is_told_from_a_broken_one(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        Catalog.load(tmp_path / "absent", ())
    (tmp_path / "text").write_text("hello")
    with pytest.raises(CatalogError, match="is not a Ferrule catalog; build it again"):
        Catalog.load(tmp_path / "text", ())
    with pytest.raises(SealError, match="truncated"):
        Catalog.from_bytes(MAGIC + bytes(HEADER.size), ())


def packed(*tools: Tool, records: tuple[Record, ...] = ()) -> bytes:
    """A sealed catalog of these."""
    return pack(tools, records, {}, KEY)


def opened(*tools: Tool, records: tuple[Record, ...] = ()) -> Catalog:
    """The same, opened by somebody who trusts the key."""
    return Catalog.from_bytes(packed(*tools, records=records), TRUSTED)


@pytest.mark.parametrize("change", [b"", b"more"], ids=["cut", "lengthened"])
def test_a_catalog_of_another_length_is_refused(change: bytes) -> None:
    data = packed(a_tool())
    with pytest.raises(SealError, match="is truncated or has data appended"):
        Catalog.from_bytes(data + change if change else data[:-1], TRUSTED)


def test_a_seal_of_somebody_else_is_refused() -> None:
    with pytest.raises(SealError, match="does not trust"):
        Catalog.from_bytes(packed(a_tool()), [bytes(32)])


def test_a_changed_byte_is_refused() -> None:
    data = bytearray(packed(a_tool(description="Does it.")))
    data[data.index(b"Does it.")] ^= 1
    with pytest.raises(SealError, match="was changed after it was sealed"):
        Catalog.from_bytes(bytes(data), TRUSTED)


def test_a_tool_comes_out_as_it_went_in() -> None:
    schema = {"properties": {"q": {}}, "type": "object"}
    tool = a_tool(
        payload={"input_contract": {"model_input_schema": schema}}, input_schema=raw(schema), output_schema=raw({}),
        version="1.0.0", aliases=("find",), tags=("a",),
    )  # fmt: skip
    catalog = opened(tool)
    assert canonical(catalog.tools[0]) == canonical(tool) and bytes(catalog.tools[0].input_schema) == bytes(raw(schema))
    assert catalog.tools[0].credentials is None and catalog.digest_of(tool) == digest_of_tool(tool)


def test_the_newest_available_version_is_found_unless_another_is_asked_for() -> None:
    versions = [a_tool(version="1.0.0"), a_tool(version="2.0.0"), a_tool(version="3.0.0", lifecycle="draft")]
    catalog = opened(*versions)
    for found in (catalog.tool("desk.search"), catalog.find("search"), catalog.find("search", "desk")):
        assert found is not None and found.version == "2.0.0"
    other = catalog.tool("desk.search", "1.0.0")
    assert other is not None and other.version == "1.0.0"
    assert catalog.tool("desk.search", "9.0.0") is None and catalog.find("absent") is None
    assert [catalog.tool_at(at).version for at in catalog.positions_of("desk.search")] == ["2.0.0", "1.0.0", "3.0.0"]


def test_a_name_of_several_namespaces_is_not_guessed() -> None:
    catalog = opened(a_tool(), a_tool(namespace="shop", tool_id="shop.search"), a_tool("pay", aliases=("settle",)))
    with pytest.raises(CatalogError, match=r"several namespaces \(desk, shop\)"):
        catalog.find("search")
    found = catalog.find("search", "shop")
    assert found is not None and found.tool_id == "shop.search"
    alias = catalog.find("settle")
    assert alias is not None and alias.name == "pay"
    assert {tool.tool_id for tool in catalog.tools_named("search")} == {"desk.search", "shop.search"}


def test_tools_are_reached_by_their_place_and_no_further() -> None:
    catalog = opened(a_tool("a"), a_tool("b"))
    assert len(catalog) == len(catalog.tools) == 2 and [tool.name for tool in catalog.tools] == ["a", "b"]
    for outside in (-1, 2):
        with pytest.raises(IndexError):
            catalog.tools[outside]


def test_records_are_found_by_kind_and_version() -> None:
    agents = tuple(
        Record(kind="agent", record_id="clerk", dialect="aml", version=version) for version in ("1.0.0", "2.0.0")
    )
    role = Record(kind="role", record_id="clerk", dialect="aml")
    catalog = opened(a_tool(), records=(*agents, role))
    newest, older = catalog.record("agent", "clerk"), catalog.record("agent", "clerk", "1.0.0")
    assert newest == agents[1] and older == agents[0] and catalog.record("agent", "clerk", "3.0.0") is None
    assert list(catalog.records("role")) == [role] and len(list(catalog.records())) == 3


def test_a_tool_of_another_catalog_has_no_digest_here() -> None:
    with pytest.raises(CatalogError, match="is not of this catalog"):
        opened(a_tool()).digest_of(a_tool(version="9.0.0"))


def test_documentation_is_read_for_people() -> None:
    tool = a_tool(version="1.0.0")
    catalog = Catalog.from_bytes(pack([tool], [], {documentation_key(tool): {"notes": "Careful."}}, KEY), TRUSTED)
    assert catalog.documentation(tool) == {"notes": "Careful."} and catalog.documentation(a_tool()) == {}
