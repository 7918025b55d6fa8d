"""Catalogs as surfaces see them."""

from __future__ import annotations

import pytest

from ferrule.errors import CatalogError
from ferrule.runtime.surface.catalogs import JoinedCatalog, SealedCatalog
from tests.runtime.surface.surfaces import make_agent_record, make_request, make_surface, make_tool, make_view


def test_a_sealed_catalog_gives_the_digests_it_was_sealed_with() -> None:
    view = make_view(make_tool("a"), make_tool("b", version="1.0.0"), make_tool("b", version="1.1.0"))
    for listed in (*view.list_preferred(), *view.versions("acme.b")):
        assert listed.digest == view.catalog.digest_of(listed.tool)
    assert [listed.tool.version for listed in view.versions("acme.b")] == ["1.1.0", "1.0.0"]
    assert view.versions("acme.nothing") == ()


def test_versions_and_the_whole_list_prefer_the_same_version() -> None:
    tools = [make_tool(version=version) for version in ("0.9.0", "1.0.0", "1.0.0-rc.1")]
    view = make_view(*tools, make_tool(version="9.0.0", lifecycle="deprecated"))
    (preferred,) = view.list_preferred()
    assert preferred == view.versions("acme.search")[0]
    assert preferred.tool.version == "1.0.0"


def test_a_catalog_knows_every_name_of_its_tools() -> None:
    """AT-107: whether a tool exists is asked of the catalog, by any of its names."""
    view = make_view(make_tool("a.b", namespace="x.y", tool_id="t", aliases=("other",)), make_tool("a.b"))
    assert view.find_ids("t") == view.find_ids("other") == view.find_ids("x.y.a.b") == ["t"]
    assert view.find_ids("a.b") == ["acme.a.b", "t"]
    assert view.find_ids("nothing") == []
    assert view.find_ids(".".join("x" * 5000)) == []


def test_added_tools_stand_beside_the_sealed_ones() -> None:
    sealed, added = make_tool("sealed"), make_tool("added")
    under = make_view(sealed, records=[make_agent_record(sealed)])
    joined = JoinedCatalog(under, [added])
    assert {listed.tool.name for listed in joined.list_preferred()} == {"sealed", "added"}
    assert joined.find_ids("added") == ["acme.added"]
    assert joined.find_ids("sealed") == ["acme.sealed"]
    assert joined.record("agent", "helper") is not None
    assert set(make_surface(joined, make_request(agent="helper")).entries) == {"acme.sealed"}


def test_a_joined_digest_follows_its_tools() -> None:
    under = make_view(make_tool("sealed"))
    digests = {
        under.digest,
        JoinedCatalog(under, [make_tool("added")]).digest,
        JoinedCatalog(under, [make_tool("added", description="Other.")]).digest,
    }
    assert len(digests) == 3
    assert JoinedCatalog(under, []).digest == under.digest
    assert JoinedCatalog(under, [make_tool("added")]).digest in digests


def test_an_added_tool_has_the_digest_it_would_have_when_sealed() -> None:
    """So that an approval given for it holds, and stops holding, for the right reasons."""
    tool = make_tool("added")
    joined = JoinedCatalog(make_view(), [tool])
    assert joined.versions("acme.added")[0].digest == make_view(tool).versions("acme.added")[0].digest


@pytest.mark.parametrize(
    "added",
    [
        [make_tool("sealed")],
        [make_tool("sealed", tool_id="another-id")],
        [make_tool("other", tool_id="acme.sealed")],
        [make_tool("new"), make_tool("new")],
        [make_tool("new"), make_tool("new", tool_id="two")],
        [make_tool("new", tool_id="one"), make_tool("newer", tool_id="one")],
    ],
)
def test_two_tools_in_one_place_are_refused(added: list[object]) -> None:
    """AT-4: a namespace has one tool of a name, an id one tool."""
    with pytest.raises(CatalogError, match="rename the one made in this process"):
        JoinedCatalog(make_view(make_tool("sealed")), added)  # type: ignore[arg-type]  # a parametrised list


def test_what_is_asked_in_vain_is_not_kept() -> None:
    view = SealedCatalog(make_view(make_tool()).catalog)
    for number in range(100):
        view.versions(f"nothing-{number}")
    assert len(view._by_id) == 0
