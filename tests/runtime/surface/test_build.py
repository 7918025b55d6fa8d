"""What a name leads to on a surface."""

from __future__ import annotations

from ferrule.model.surface import Surface
from tests.runtime.surface.parts import a_tool, request_of, surface_of, view_of


def led_to(surface: Surface, name: str) -> str | None:
    entry = surface.find(name)
    return None if entry is None else entry.tool.tool_id


def test_a_tool_answers_to_name_alias_id_and_qualified_name() -> None:
    """AT-5, AT-106: all lead to one tool id."""
    surface = surface_of(view_of(a_tool(tool_id="t-1", aliases=("look", "seek"))))
    assert {led_to(surface, name) for name in ("search", "look", "seek", "t-1", "acme.search")} == {"t-1"}
    assert surface.find("nothing") is None


def test_equal_names_in_two_namespaces_are_both_addressable() -> None:
    """AT-4, AT-6: the bare name is ambiguous and not guessed; the qualified names work, and they are what is shown."""
    surface = surface_of(view_of(a_tool(), a_tool(namespace="web")))
    assert surface.is_ambiguous("search")
    assert led_to(surface, "search") is None
    assert led_to(surface, "acme.search") == "acme.search"
    assert surface.shown_name(surface.entries["web.search"]) == "web.search"


def test_a_primary_name_beats_an_alias() -> None:
    """AT-6"""
    surface = surface_of(view_of(a_tool("search"), a_tool("find", aliases=("search",))))
    assert led_to(surface, "search") == "acme.search"


def test_an_alias_of_two_tools_is_ambiguous() -> None:
    """AT-6"""
    surface = surface_of(view_of(a_tool("a", aliases=("go",)), a_tool("b", aliases=("go",))))
    assert surface.is_ambiguous("go")
    assert surface.names["go"] == ("acme.a", "acme.b")


def test_an_alias_of_one_visible_tool_is_not_ambiguous() -> None:
    """AT-6: only tools the caller sees make a name ambiguous."""
    surface = surface_of(view_of(a_tool("a", aliases=("go",)), a_tool("b", aliases=("go",), lifecycle="draft")))
    assert led_to(surface, "go") == "acme.a"


def test_switching_a_tool_off_sends_its_calls_to_nobody_else() -> None:
    """A held tool keeps its name against another tool's alias."""
    view = view_of(a_tool("pay"), a_tool("other", aliases=("pay",)))
    surface = surface_of(view, switched_off={"acme.pay"})
    assert led_to(surface, "pay") == "acme.pay"
    assert surface.entries["acme.pay"].standing == "blocked"


def test_a_removed_tool_leaves_its_name_to_others() -> None:
    view = view_of(a_tool("pay", lifecycle="retired"), a_tool("other", aliases=("pay",)))
    assert led_to(surface_of(view), "pay") == "acme.other"
    alone = surface_of(view_of(a_tool("pay", lifecycle="retired")))
    assert led_to(alone, "pay") == "acme.pay", "so that a call of it can be told why it is refused"


def test_an_alias_cannot_take_the_id_of_another_tool() -> None:
    surface = surface_of(view_of(a_tool("a", tool_id="Math.Add"), a_tool("b", aliases=("Math.Add", "acme.a"))))
    assert led_to(surface, "Math.Add") == "Math.Add"
    assert led_to(surface, "acme.a") == "Math.Add"


def test_a_tool_named_like_the_search_tool_hides_neither() -> None:
    surface = surface_of(view_of(a_tool("search_tools"), a_tool("other")), request_of(defer_above=0))
    assert surface.is_ambiguous("search_tools")
    assert led_to(surface, "ferrule.search_tools") == "ferrule.search_tools"
