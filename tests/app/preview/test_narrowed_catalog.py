"""A catalog as far as some tools are concerned: others are not there, records are."""

from __future__ import annotations

from ferrule.app.preview.narrowed_catalog import NarrowedCatalog
from tests.runtime.surface.surfaces import make_agent_record, make_tool, make_view


def test_only_these_tools_are_there_and_every_record() -> None:
    mine, other = make_tool(), make_tool("other")
    whole = make_view(mine, other, records=[make_agent_record(other)])
    some = NarrowedCatalog(whole, (mine.tool_id, "acme.nothing"))
    assert [listed.tool.tool_id for listed in some.list_preferred()] == ["acme.search"]
    assert (len(some.versions("acme.search")), some.versions("acme.other")) == (1, ())
    assert (list(some.find_ids("search")), list(some.find_ids("other"))) == (["acme.search"], [])
    assert [record.record_id for record in some.records("agent")] == ["helper"]
    assert some.digest == whole.digest
