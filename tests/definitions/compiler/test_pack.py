"""The catalog's bytes: deterministic, sealed as a whole, quick to open."""

from __future__ import annotations

import time

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.pack import canonical, pack
from ferrule.definitions.compiler.seal import public_half
from ferrule.errors import BuildRefused, CatalogError, SealError
from ferrule.model.catalog import Catalog, documentation_key
from ferrule.model.tool import Record, SafetyFacts, Tool

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


TRUSTED = (public_half(KEY),)


def a_tool(name: str = "search", **changes: object) -> Tool:
    fields: dict[str, object] = {
        "tool_id": name,
        "namespace": "acme",
        "name": name,
        "description": "Finds things.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "aml",
        "version": "1.0.0",
        "input_schema": msgspec.Raw(b'{"type":"object","properties":{"q":{"type":"string"}}}'),
    }
    return Tool(**(fields | changes))  # type: ignore[arg-type]  # a test's fields


def open_catalog(*tools: Tool, records: tuple[Record, ...] = ()) -> Catalog:
    return Catalog.from_bytes(pack(tools, records, {}, KEY), TRUSTED)


def test_what_goes_in_comes_out() -> None:
    whole = a_tool(
        output_schema=msgspec.Raw(b"null"),
        credentials=msgspec.Raw(b'{"source":"env"}'),
        runtime_input_schema=msgspec.Raw(b"{}"),
        facts=SafetyFacts(is_read_only=True),
        inferred_facts=("strict",),
        aliases=("look",),
        tags=("a",),
        payload=msgspec.Raw(b'{"x_unknown":[1,2.5,null]}'),
    )
    for tool in (whole, a_tool()):
        found = open_catalog(tool).tools[0]
        assert canonical(found) == canonical(tool)
        assert found.credentials is None or bytes(found.credentials) == b'{"source":"env"}'


def test_order_of_input_and_of_keys_does_not_change_the_bytes() -> None:
    one = a_tool("one", input_schema=msgspec.Raw(b'{"type":"object","title":"t"}'))
    same = a_tool("one", input_schema=msgspec.Raw(b'{ "title": "t", "type": "object" }'))
    two = a_tool("two")
    assert pack([one, two], [], {}, KEY) == pack([two, same], [], {}, KEY)


def test_numbers_keep_their_meaning() -> None:
    raw = msgspec.Raw(b'{"b":123456789012345678901234567890,"a":1.0,"c":1,"d":1e-7}')
    assert canonical(raw) == b'{"a":1.0,"b":123456789012345678901234567890,"c":1,"d":1e-7}'


def test_any_changed_byte_is_refused() -> None:
    data = pack([a_tool("one"), a_tool("two")], [], {documentation_key(a_tool("one")): {"purpose": "Text."}}, KEY)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x01
        with pytest.raises(CatalogError):
            Catalog.from_bytes(bytes(changed), TRUSTED)


def test_cut_and_lengthened_files_are_refused() -> None:
    data = pack([a_tool()], [], {}, KEY)
    for changed in (b"", data[:50], data[:-1], data + b"\0"):
        with pytest.raises(CatalogError):
            Catalog.from_bytes(changed, TRUSTED)


def test_a_foreign_key_is_refused_with_advice() -> None:
    data = pack([a_tool()], [], {}, KEY)
    with pytest.raises(SealError, match=r"ferrule\.pub"):
        Catalog.from_bytes(data, [public_half(Ed25519PrivateKey.generate())])


def test_documentation_is_kept_but_is_no_part_of_the_digest() -> None:
    tool = a_tool()
    plain = open_catalog(tool)
    told = Catalog.from_bytes(pack([tool], [], {documentation_key(tool): {"purpose": "Why."}}, KEY), TRUSTED)
    assert told.digest == plain.digest
    assert told.documentation(tool) == {"purpose": "Why."}
    assert plain.documentation(tool) == {}


def test_a_caller_without_a_version_gets_the_newest_available_one() -> None:
    catalog = open_catalog(
        a_tool(version="1.9.0"),
        a_tool(version="1.10.0"),
        a_tool(version="2.0.0", lifecycle="disabled"),
        a_tool(version="2.0.0-rc.1", lifecycle="draft"),
    )
    newest, pinned = catalog.find("search"), catalog.find("search", "acme", "1.9.0")
    assert newest is not None and newest.version == "1.10.0"
    assert pinned is not None and pinned.version == "1.9.0"
    assert catalog.tool("search", "3.0.0") is None
    assert [tool.version for tool in catalog.tools] == ["2.0.0", "2.0.0-rc.1", "1.10.0", "1.9.0"]


def test_names_live_in_namespaces_and_a_clash_is_never_guessed() -> None:
    catalog = open_catalog(a_tool(tool_id="a.search", namespace="a"), a_tool(tool_id="b.search", namespace="b"))
    found = catalog.find("search", "b")
    assert found is not None and found.tool_id == "b.search"
    with pytest.raises(CatalogError, match="several namespaces"):
        catalog.find("search")


def test_an_alias_leads_to_its_tool_and_a_primary_name_wins() -> None:
    catalog = open_catalog(a_tool("find", aliases=("search", "look")), a_tool("search"))
    by_alias, by_name = catalog.find("look"), catalog.find("search")
    assert by_alias is not None and by_alias.tool_id == "find"
    assert by_name is not None and by_name.tool_id == "search"


def test_two_tools_of_one_name_and_version_are_refused() -> None:
    with pytest.raises(BuildRefused, match="two tools named 'search'"):
        pack([a_tool(), a_tool(tool_id="other")], [], {}, KEY)


def test_records_are_found_by_kind_and_id() -> None:
    records = (
        Record(kind="agent", record_id="helper", dialect="aml", version="1.0.0"),
        Record(kind="role", record_id="reader", dialect="aml", version="1.0.0"),
    )
    catalog = open_catalog(a_tool(), records=records)
    assert [record.record_id for record in catalog.records("role")] == ["reader"]
    assert catalog.record("agent", "helper") == records[0]
    assert catalog.record("agent", "reader") is None
    assert len(list(catalog.records())) == 2 and len(catalog) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_the_digest_depends_on_meaning_alone(schema: dict[str, object]) -> None:
    forwards = msgspec.json.encode(schema)
    backwards = msgspec.json.encode(dict(reversed(schema.items())))
    loose = msgspec.json.format(backwards, indent=3)
    digests = {open_catalog(a_tool(input_schema=msgspec.Raw(text))).digest for text in (forwards, backwards, loose)}
    assert len(digests) == 1
    changed = msgspec.json.encode(schema | {"another": 1})
    assert open_catalog(a_tool(input_schema=msgspec.Raw(changed))).digest not in digests


def test_ten_thousand_tools_open_in_milliseconds_and_stay_small() -> None:
    padding = "x" * 1400
    data = pack([a_tool(f"tool-{number}", description=padding) for number in range(10_000)], [], {}, KEY)
    assert len(data) < 10_000 * 3_000
    best = min(_seconds_to_open(data) for _ in range(5))
    assert best < 0.25  # generous: about 15 ms on a quiet machine
    catalog = Catalog.from_bytes(data, TRUSTED)
    found = catalog.find("tool-7777")
    assert found is not None and found.tool_id == "tool-7777"


def _seconds_to_open(data: bytes) -> float:
    started = time.perf_counter()
    Catalog.from_bytes(data, TRUSTED)
    return time.perf_counter() - started
