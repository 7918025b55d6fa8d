"""What a name leads to on a surface."""

from __future__ import annotations

from ferrule.model.surface import Surface
from tests.runtime.surface.surfaces import make_request, make_surface, make_tool, make_view


def resolve_name(surface: Surface, name: str) -> str | None:
    entry = surface.find(name)
    return None if entry is None else entry.tool.tool_id


def test_a_tool_answers_to_name_alias_id_and_qualified_name() -> None:
    """AT-5, AT-106: all lead to one tool id."""
    surface = make_surface(make_view(make_tool(tool_id="t-1", aliases=("look", "seek"))))
    assert {resolve_name(surface, name) for name in ("search", "look", "seek", "t-1", "acme.search")} == {"t-1"}
    assert surface.find("nothing") is None


def test_equal_names_in_two_namespaces_are_both_addressable() -> None:
    """AT-4, AT-6: the bare name is ambiguous and not guessed; the qualified names work, and they are what is shown."""
    surface = make_surface(make_view(make_tool(), make_tool(namespace="web")))
    assert surface.is_ambiguous("search")
    assert resolve_name(surface, "search") is None
    assert resolve_name(surface, "acme.search") == "acme.search"
    assert surface.shown_name(surface.entries["web.search"]) == "web.search"


def test_a_primary_name_beats_an_alias() -> None:
    """AT-6"""
    surface = make_surface(make_view(make_tool("search"), make_tool("find", aliases=("search",))))
    assert resolve_name(surface, "search") == "acme.search"


def test_an_alias_of_two_tools_is_ambiguous() -> None:
    """AT-6"""
    surface = make_surface(make_view(make_tool("a", aliases=("go",)), make_tool("b", aliases=("go",))))
    assert surface.is_ambiguous("go")
    assert surface.names["go"] == ("acme.a", "acme.b")


def test_an_alias_of_one_visible_tool_is_not_ambiguous() -> None:
    """AT-6: only tools the caller sees make a name ambiguous."""
    surface = make_surface(
        make_view(make_tool("a", aliases=("go",)), make_tool("b", aliases=("go",), lifecycle="draft"))
    )
    assert resolve_name(surface, "go") == "acme.a"


def test_switching_a_tool_off_sends_its_calls_to_nobody_else() -> None:
    """A held tool keeps its name against another tool's alias."""
    view = make_view(make_tool("pay"), make_tool("other", aliases=("pay",)))
    surface = make_surface(view, switched_off={"acme.pay"})
    assert resolve_name(surface, "pay") == "acme.pay"
    assert surface.entries["acme.pay"].standing == "blocked"


def test_a_removed_tool_leaves_its_name_to_others() -> None:
    view = make_view(make_tool("pay", lifecycle="retired"), make_tool("other", aliases=("pay",)))
    assert resolve_name(make_surface(view), "pay") == "acme.other"
    alone = make_surface(make_view(make_tool("pay", lifecycle="retired")))
    assert resolve_name(alone, "pay") == "acme.pay", "so that a call of it can be told why it is refused"


def test_an_alias_cannot_take_the_id_of_another_tool() -> None:
    surface = make_surface(
        make_view(make_tool("a", tool_id="Math.Add"), make_tool("b", aliases=("Math.Add", "acme.a")))
    )
    assert resolve_name(surface, "Math.Add") == "Math.Add"
    assert resolve_name(surface, "acme.a") == "Math.Add"


def test_a_tool_named_like_the_search_tool_hides_neither() -> None:
    surface = make_surface(make_view(make_tool("search_tools"), make_tool("other")), make_request(defer_above=0))
    assert surface.is_ambiguous("search_tools")
    assert resolve_name(surface, "ferrule.search_tools") == "ferrule.search_tools"
