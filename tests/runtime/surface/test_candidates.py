"""Which tools a surface considers: an agent's, a role's, a record's, a version's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.contracts.surface import CatalogEntry
from ferrule.errors import SurfaceError
from ferrule.model.surface import SCOPES, Surface, SurfaceRequest, SurfaceSettings, request_key
from ferrule.model.tool import Record, SafetyFacts, raw
from ferrule.runtime.surface.catalogs import SealedCatalog
from ferrule.workspace.releases import build, load_catalog
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import agent, role, shop, tool, write
from tests.runtime.surface.surfaces import (
    DenyingPolicy,
    list_standings,
    make_agent_record,
    make_declared_tool,
    make_request,
    make_role_record,
    make_surface,
    make_surface_record,
    make_tool,
    make_view,
)


def visible(surface: Surface) -> set[str]:
    return {tool_id for tool_id, entry in surface.entries.items() if entry.is_visible}


class Unscanned(SealedCatalog):
    """A catalog that must not be read from end to end."""

    def list_preferred(self) -> Sequence[CatalogEntry]:
        raise AssertionError("the whole catalog was read")


def test_an_agent_sees_the_tools_of_its_payload_and_no_others() -> None:
    """AML-88, AT-64: what is in the catalog and not in the payload is not surfaced; and nothing is scanned for it."""
    mine, other = make_tool("mine"), make_tool("other")
    view = Unscanned(make_view(mine, other, records=[make_agent_record(mine)]).catalog)
    surface = make_surface(view, make_request(agent="helper"))
    assert list_standings(surface) == {"acme.mine": ("loaded", None)}
    assert view.find_ids("other") == ["acme.other"]


def test_an_agent_of_a_workspace_keeps_its_limits(tmp_path: Path) -> None:
    """AML-90, AML-92, AML-102, AML-103: choice, approvals and limits come from the compiled payload."""
    text = agent("find-order").replace("    - ref: find-order", "    - {ref: find-order, max_calls_per_run: 2}")
    text = text.replace("tool_choice: auto", "tool_choice: required")
    text = text.replace(
        "observability:", "runtime: {max_tool_calls: 7}\npolicies: {require_human_approval: true}\nobservability:"
    )
    workspace = Workspace.open(write(tmp_path, {**shop(agent=text), "tools/other.tool.md": tool("other")}))
    build(workspace, now="2026-02-01")
    surface = make_surface(SealedCatalog(load_catalog(workspace)), make_request(agent="helper"))
    entry = surface.entries["find-order"]
    assert set(surface.entries) == {"find-order"}
    assert (entry.approval_from, entry.max_calls_per_run) == (("policy",), 2)
    assert (entry.pinned, surface.max_tool_calls, surface.tool_choice) == ("1.0.0", 7, "required")
    assert "## find-order" in surface.instructions


def test_an_agent_uses_the_version_it_was_compiled_with() -> None:
    old, new = make_tool(version="1.0.0"), make_tool(version="2.0.0")
    view = make_view(old, new, records=[make_agent_record(old)])
    assert make_surface(view, make_request(agent="helper")).entries["acme.search"].tool.version == "1.0.0"
    pinned = make_surface(view, make_request(agent="helper", pins={"acme.search": "2.0.0"}))
    assert list_standings(pinned)["acme.search"] == ("blocked", "policy_blocked")


def test_an_agent_does_not_use_a_definition_it_was_not_compiled_with() -> None:
    view = make_view(make_tool(description="Another."), records=[make_agent_record(make_tool())])
    assert list_standings(make_surface(view, make_request(agent="helper"))) == {
        "acme.search": ("blocked", "policy_blocked")
    }


def test_a_manifest_agent_sees_the_tools_of_its_manifest() -> None:
    """ADL: the namespace of an agent's tools is its name."""
    manifest = raw({"spec": {"tools": [{"id": "summarise"}, {"id": "read"}]}})
    record = Record(kind="manifest", record_id="reporter", dialect="adl", version="0.1.0", payload=manifest)
    tools = [
        make_tool(name, namespace="reporter", dialect="adl", version="0.1.0") for name in ("summarise", "read", "old")
    ]
    view = make_view(*tools, make_tool("summarise", namespace="else"), records=[record])
    assert visible(make_surface(view, make_request(agent="reporter"))) == {"reporter.summarise", "reporter.read"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"agent": "helpr"}, "no agent 'helpr' in the catalog; did you mean 'helper'?"),
        ({"agent": "zzz"}, "it has the agents asleep, helper"),
        ({"agent": "asleep"}, "the agent 'asleep' is disabled"),
        ({"role": "raeder"}, "no role 'raeder' in the catalog; did you mean 'reader'?"),
        ({"role": "gone"}, "the role 'gone' is not active"),
        ({"surface_id": "dask"}, "no surface 'dask' in the catalog; did you mean 'desk'?"),
        ({"scope": "sesion"}, "no scope 'sesion'; did you mean 'session'?"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(asked: dict[str, Any], message: str) -> None:
    records = [
        make_agent_record(make_tool()),
        make_agent_record(name="asleep", definition={"status": "disabled"}),
        make_role_record({"ref": "acme.search"}),
        make_role_record(name="gone", status="disabled"),
        make_surface_record(),
    ]
    with pytest.raises(SurfaceError) as raised:
        make_surface(make_view(make_tool(), records=records), make_request(**asked))
    assert message in str(raised.value)


def test_the_newest_available_version_is_shown_unless_another_is_pinned() -> None:
    """A surface shows the newest available version unless it pins another."""
    versions = [make_tool(version=version) for version in ("1.9.0", "1.10.0")]
    view = make_view(*versions, make_tool(version="2.0.0", lifecycle="draft"))
    assert make_surface(view).entries["acme.search"].tool.version == "1.10.0"
    pinned = make_surface(view, make_request(pins={"acme.search": "1.9.0"})).entries["acme.search"]
    assert (pinned.tool.version, pinned.pinned, pinned.standing) == ("1.9.0", "1.9.0", "loaded")
    missing = make_surface(view, make_request(pins={"acme.search": "3.0.0"})).entries["acme.search"]
    assert (missing.standing, missing.reason) == ("blocked", "feature_disabled")
    assert "1.10.0" in missing.detail


def test_a_deprecated_tool_answers_to_its_name_and_is_not_offered() -> None:
    """AT-12, AT-16: old callers go on; nobody new is shown it, unless an agent or a pin names it."""
    tool = make_tool(lifecycle="deprecated")
    view = make_view(tool, records=[make_agent_record(tool)])
    entry = make_surface(view).find("search")
    assert entry is not None
    assert (entry.standing, entry.is_offered) == ("loaded", False)
    assert "deprecated" in entry.detail
    assert make_surface(view, make_request(agent="helper")).entries["acme.search"].is_offered
    assert make_surface(view, make_request(pins={"acme.search": "1.0.0"})).entries["acme.search"].is_offered


def test_a_role_only_tightens() -> None:
    """AML-94, AML-96: no grant no tool, deny beats a grant, reading only, and the strictest limits."""
    names = ("free", "loose", "read", "write", "sometimes", "denied", "ungranted")
    tools = {name: make_tool(name, max_calls_per_run=5) for name in names}
    tools["read"] = make_tool("read", facts=SafetyFacts(is_read_only=True))
    tools["sometimes"] = make_tool("sometimes", facts=SafetyFacts(is_read_only="classifier:shell"))
    role = make_role_record(
        {"ref": "acme.free", "approval_required": True, "max_calls_per_run": 3},
        {"ref": "acme.read", "access": "call-read-only"},
        {"ref": "acme.loose", "max_calls_per_run": 9},
        {"ref": "acme.write", "access": "call-read-only"},
        {"ref": "acme.sometimes", "access": "call-read-only"},
        {"ref": "acme.denied"},
        {"ref": "acme.denied", "access": "deny"},
    )
    view = make_view(*tools.values(), records=[role, make_agent_record(*tools.values())])
    for agent_name in (None, "helper"):
        surface = make_surface(view, make_request(role="reader", agent=agent_name))
        assert visible(surface) == {"acme.free", "acme.loose", "acme.read"}
        assert {list_standings(surface)[f"acme.{name}"] for name in ("write", "sometimes", "denied", "ungranted")} == {
            ("excluded", "role_not_allowed")
        }
        assert surface.entries["acme.free"].approval_from == ("role",)
        assert surface.entries["acme.free"].max_calls_per_run == 3
    assert make_surface(view, make_request(role="reader")).entries["acme.loose"].max_calls_per_run == 5


def test_a_tool_that_asks_for_approval_says_so() -> None:
    assert make_surface(make_view(make_tool(approval_required=True))).entries["acme.search"].approval_from == ("tool",)


def test_a_large_catalog_is_deferred_except_what_is_always_loaded() -> None:
    """AT-15, AT-37, AT-66: above the threshold only the search tool and the always-load set have their schemas shown."""
    tools = [make_tool(f"t{number}") for number in range(50)]
    assert not make_surface(make_view(*tools)).standing("deferred")
    surface = make_surface(make_view(*tools, make_declared_tool("pinned", {"always_load": True})))
    loaded = {entry.tool.tool_id for entry in surface.standing("loaded")}
    assert loaded == {"acme.pinned", "ferrule.search_tools"}
    assert len(surface.standing("deferred")) == 50


def test_the_threshold_is_a_setting_and_the_request_may_change_it() -> None:
    view = make_view(*(make_tool(f"t{number}") for number in range(4)))
    assert make_surface(view, settings=SurfaceSettings(defer_above=3)).standing("deferred")
    assert not make_surface(view, make_request(defer_above=4), settings=SurfaceSettings(defer_above=3)).standing(
        "deferred"
    )
    assert len(make_surface(view, make_request(defer_above=0)).standing("deferred")) == 4


def test_held_tools_do_not_count_towards_the_threshold() -> None:
    tools = [make_tool("a"), make_tool("b", lifecycle="draft"), make_tool("c", lifecycle="deprecated")]
    assert not make_surface(make_view(*tools), make_request(defer_above=1)).standing("deferred")


def test_the_search_tool_can_be_denied_and_switched_off() -> None:
    view, asked = make_view(make_tool()), make_request(defer_above=0)
    search = "ferrule.search_tools"
    assert list_standings(make_surface(view, asked))[search] == ("loaded", None)
    assert list_standings(make_surface(view, asked, engine=DenyingPolicy(search)))[search] == (
        "excluded",
        "policy_blocked",
    )
    assert list_standings(make_surface(view, asked, switched_off={search}))[search] == ("blocked", "policy_blocked")


def test_a_surface_record_is_followed() -> None:
    """AT-63, AT-67, AT-69: each listed tool where the record wants it; what the catalog lacks is told."""
    record = make_surface_record(
        tool_refs=["acme.plain", "vanished"],
        loaded_tools=["shown", {"tool_id": "acme.both"}],
        deferred_tools=[{"tool_id": "acme.later", "name": "later", "loading_state": "deferred"}],
        blocked_tools=[{"tool_id": "acme.held", "reason": "role_not_allowed"}, {"name": "both", "reason": "because"}],
        excluded_tools=[{"tool_id": "acme.out", "reason": "feature_disabled", "detail": "not yet"}],
        default_tool_choice="required",
    )
    names = ("plain", "shown", "later", "held", "out", "both", "unlisted")
    surface = make_surface(
        make_view(*map(make_tool, names), records=[record]), make_request(surface_id="desk", defer_above=0)
    )
    assert list_standings(surface) == {
        "acme.plain": ("deferred", None),
        "acme.shown": ("loaded", None),
        "acme.later": ("deferred", None),
        "acme.held": ("blocked", "role_not_allowed"),
        "acme.both": ("blocked", "policy_blocked"),
        "acme.out": ("excluded", "feature_disabled"),
        "ferrule.search_tools": ("loaded", None),
    }
    assert surface.tool_choice == "required"
    assert surface.to_record()["unresolved_tool_refs"] == ["vanished"]


def test_a_surface_record_widens_nothing_for_an_agent() -> None:
    mine, other = make_tool("mine"), make_tool("other")
    record = make_surface_record(tool_refs=["acme.mine", "acme.other"])
    view = make_view(mine, other, records=[record, make_agent_record(mine)])
    assert set(make_surface(view, make_request(agent="helper", surface_id="desk")).entries) == {"acme.mine"}


def test_a_surface_record_that_only_holds_back_leaves_the_rest() -> None:
    record = make_surface_record(excluded_tools=[{"name": "search", "reason": "policy_blocked"}])
    tools = [make_tool("search"), make_tool("search", namespace="web"), make_tool("other")]
    surface = make_surface(make_view(*tools, records=[record]), make_request(surface_id="desk"))
    assert visible(surface) == {"acme.other"}, "a name of several tools holds all of them back"


def test_a_surface_record_binds_whom_it_names() -> None:
    constraints = {"agent": "helper", "role": "reader", "interactive": False}
    asks = make_tool("asks", facts=SafetyFacts(requires_user_interaction=True))
    tools = (make_tool("a"), asks, make_tool("ungranted"))
    record = make_surface_record(tool_refs=[tool.tool_id for tool in tools], role_constraints=constraints)
    roles = make_role_record({"ref": "acme.a"}, {"ref": "acme.asks"})
    view = make_view(*tools, records=[record, roles, make_agent_record(*tools)])
    surface = make_surface(view, make_request(agent="helper", surface_id="desk"))
    assert list_standings(surface)["acme.asks"] == ("excluded", "policy_blocked")
    assert list_standings(surface)["acme.ungranted"] == ("excluded", "role_not_allowed")
    with pytest.raises(SurfaceError, match="for the agent 'helper'"):
        make_surface(view, make_request(surface_id="desk"))


@pytest.mark.parametrize("scope", [*SCOPES, "peer-agent"])
def test_every_scope_is_accepted(scope: str) -> None:
    """AT-63, AT-65: all nine scopes, and the standard's other spelling of one; the record has what it must."""
    record = make_surface(make_view(make_tool()), make_request(scope=scope)).to_record()
    assert record["scope"] == scope.replace("-", "_")
    assert {"schema_version", "surface_id", "created_at", "producer", "surface_reason"} <= record.keys()


def test_an_id_of_two_tools_is_nobodys() -> None:
    one, two = make_tool("one", tool_id="same"), make_tool("two", tool_id="same")
    assert list_standings(make_surface(make_view(one, two)))["same"] == ("blocked", "feature_disabled")


def test_a_surface_comes_back_from_its_stored_request() -> None:
    request = make_request(
        features=frozenset({"b", "a"}), pins={"x": "1"}, selected={"acme.search": "q"}, defer_above=0
    )
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=SurfaceRequest)
    assert request_key(stored) == request_key(request)
    view = make_view(make_tool(), make_tool("other"))
    first, again = make_surface(view, request), make_surface(view, stored)
    assert first.entries == again.entries
    assert first.entries["acme.search"].selection_ref == "q"


def test_equal_requests_have_equal_keys_and_others_do_not() -> None:
    one = make_request(features=frozenset(["a", "b", "c"]), pins={"x": "1", "y": "2"})
    same = make_request(features=frozenset(["c", "b", "a"]), pins={"y": "2", "x": "1"})
    assert request_key(one) == request_key(same)
    assert request_key(one) != request_key(make_request(features=frozenset(["a"])))


def test_a_role_of_a_workspace_grants_by_id(tmp_path: Path) -> None:
    """AML-95: the role file of a workspace bounds a caller without an agent too."""
    files = {**shop(role=role("find-order", access="call-read-only")), "tools/other.tool.md": tool("other")}
    workspace = Workspace.open(write(tmp_path, files))
    build(workspace, now="2026-02-01")
    surface = make_surface(SealedCatalog(load_catalog(workspace)), make_request(role="reader"))
    assert visible(surface) == {"find-order"}
