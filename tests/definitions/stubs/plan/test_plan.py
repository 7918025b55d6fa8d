"""What a language is given to write."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.language import Injected
from ferrule.definitions.stubs.plan import list_injected
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.canonical import digest_of_tool
from tests.definitions.stubs.planning import planned
from tests.definitions.stubs.tools import CITY, manifest, tool


def test_names_are_made_of_words() -> None:
    """ADL-42: `get_user_id` is `GetUserID`."""
    made = planned(tool("get_user_id"), tool("sendHTTPMail"), tool("list-orders"))
    assert [(each.stem, each.type_name) for each in made.tools] == [
        ("get_user_id", "GetUserID"),
        ("send_http_mail", "SendHTTPMail"),
        ("list_orders", "ListOrders"),
    ]


def test_an_agent_file_may_name_more_acronyms() -> None:
    """ADL-42: `spec.acronyms` adds to the usual ones, in any case."""
    agent = manifest(acronyms=["SKU", "n0t a word", 4])
    made = planned(tool("find_sku", namespace="clerk", dialect="adl"), manifests=[agent])
    assert made.tools[0].type_name == "FindSKU"


def test_a_stem_and_a_type_that_the_language_needs_are_left_to_it() -> None:
    made = planned(tool("all"), tool("thing"))
    assert all(each.stem != "all" for each in made.tools)
    assert all(each.type_name != "Thing" for each in made.tools)


def test_what_two_tools_declare_is_never_the_same() -> None:
    made = planned(tool("get"), tool("new_get"), tool("get_tool"))
    declared = [f"{first}{each.type_name}{end}" for each in made.tools for first in ("", "New") for end in ENDS]
    assert len(set(declared)) == len(declared)
    assert made.tools[0].type_name == "Get"


ENDS = ("Input", "Output", "Tool")


def test_tools_of_one_name_are_told_apart_by_their_namespaces() -> None:
    made = planned(tool("get", namespace="a"), tool("get", namespace="b"), tool("put", namespace="b"))
    assert [each.stem for each in made.tools] == ["a_get", "b_get", "put"]
    assert [each.type_name for each in made.tools] == ["AGet", "BGet", "Put"]


def test_two_versions_of_a_tool_are_told_apart() -> None:
    made = planned(tool(version="1.0.0"), tool(version="2.0.0"))
    assert len({each.stem for each in made.tools}) == len({each.type_name for each in made.tools}) == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), unique=True, max_size=6))
def test_any_names_give_stems_and_types_that_are_legal_and_different(names: list[tuple[str, str]]) -> None:
    made = planned(*(tool(name, namespace=space, tool_id=f"{space}/{name}") for space, name in names))
    stems = [each.stem for each in made.tools]
    types = [each.type_name for each in made.tools]
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", stem) for stem in stems)
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9_]*", name) for name in types)
    assert len(set(stems)) == len(stems)
    assert len(set(types)) == len(types)


def test_another_tool_changes_nothing_of_those_that_are_there() -> None:
    before = planned(tool("get_order"), tool("list_orders"))
    after = planned(tool("add_order"), tool("get_order"), tool("list_orders"))
    assert before.tools == after.tools[1:]


def test_types_of_a_tree_keep_clear_of_other_tools() -> None:
    nested = {"type": "object", "properties": {"tool": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    made = planned(tool("get", takes=nested), tool("get_tool"))
    names = [each.name for one in made.tools for each in one.input.declarations]
    assert len(set(names)) == len(names)
    assert not set(names) & {"GetTool", "GetToolTool", "GetOutput"}


def test_a_client_is_not_told_of_fields_that_the_runtime_fills_in() -> None:
    takes = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "key": {"type": "string", "visibility": "internal"}},
    }
    both = [planned(tool(takes=takes), kind=kind).tools[0] for kind in ("implementation", "client")]
    assert [b"key" in bytes(each.input_schema) for each in both] == [True, False]


def test_the_digest_is_that_of_the_catalog() -> None:
    each = tool()
    assert planned(each).tools[0].digest == f"sha256:{digest_of_tool(each)}"


def test_words_change_the_digest_and_not_the_contract() -> None:
    told = {**CITY, "description": "Where", "properties": {"city": {"type": "string", "description": "Its name"}}}
    one, other = planned(tool()).tools[0], planned(tool(takes=told, description="Other words")).tools[0]
    assert one.contract == other.contract
    assert one.digest != other.digest


def test_what_is_injected_keeps_its_order() -> None:
    entries = ["shop", "logger", "config.mail", "config", "config.mail.from", "repo.reader", "repo"]
    found = list_injected(tool(dialect="adl", payload={"tool": {"inject": entries}}))
    assert found == (
        Injected("service", "shop"),
        Injected("logger"),
        Injected("section", "mail"),
        Injected("config"),
        Injected("service", "repo"),
    )
    assert list_injected(tool(payload={"tool": {"inject": entries}})) == ()


def test_a_builtin_tool_carries_its_settings() -> None:
    """ADL-48: the settings of a reserved tool go into its stub."""
    read = BUILTIN_TOOLS["read"]
    payload = {"tool": {"id": "read"}, "config": {"enabled": True, "max_lines": 50}}
    each = planned(
        tool("read", namespace="clerk", dialect="adl", takes=read.schema, title="Read", payload=payload)
    ).tools[0]
    assert each.builtin == "read"
    assert each.builtin_config == {"enabled": True, "max_lines": 50}
    assert (each.name, each.title, each.type_name) == ("read", "Read", "Read")
    assert planned(tool("read")).tools[0].builtin == ""
