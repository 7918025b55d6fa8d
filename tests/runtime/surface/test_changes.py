"""What differs between surfaces, and when one has to be made again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.runtime.surface.changes import compare_surfaces, find_rebuild_causes
from ferrule.runtime.surface.search import select
from tests.runtime.surface.surfaces import make_declared_tool, make_request, make_surface, make_tool, make_view, new_id


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"features": frozenset({"beta"})}, "feature_gates"),
        ({"model_capabilities": {"media": []}}, "model_capability"),
        ({"model": "other"}, "model_capability"),
        ({"rules": ({"effect": "deny"},)}, "policy"),
        ({"surface_id": "skill-1"}, "active_skill"),
        ({"tenant": "other"}, "workspace"),
        ({"is_subagent": True}, "peer_agent"),
        ({"agent": "other"}, "peer_agent"),
        ({"is_interactive": False}, "runtime_mode"),
        ({"has_sandbox": False}, "runtime_mode"),
        ({"role": "reader"}, "role"),
        ({"principal": "bob"}, "identity"),
    ],
)
def test_each_change_calls_for_a_new_surface(changes: dict[str, Any], cause: str) -> None:
    """AT-71: feature gates, model capability, policy, skill, workspace, peer agent, runtime mode."""
    surface = make_surface(make_view(make_tool()))
    changed = msgspec.structs.replace(surface.request, **changes)
    assert find_rebuild_causes(surface, changed, surface.generation) == (cause,)
    assert find_rebuild_causes(surface, changed, surface.generation)


def test_what_lies_outside_the_request_changes_the_generation() -> None:
    """AT-71: policy and credentials; a new catalog is another workspace."""
    surface = make_surface(make_view(make_tool()), generation=4)
    assert not find_rebuild_causes(surface, surface.request, 4)
    assert find_rebuild_causes(surface, surface.request, 5) == ("policy_or_credentials",)
    assert find_rebuild_causes(surface, surface.request, 4, "another") == ("workspace",)


def test_a_difference_tells_what_came_went_and_moved() -> None:
    gated = make_declared_tool("gated", {"feature_gate_refs": ["beta"]})
    old = make_surface(make_view(make_tool("same"), make_tool("gone"), make_tool("edited"), gated))
    new = make_surface(
        make_view(make_tool("same"), make_tool("fresh"), make_tool("edited", description="New."), gated),
        make_request(features=frozenset({"beta"})),
    )
    change = compare_surfaces(old, new)
    assert (change.added, change.removed) == (("acme.fresh",), ("acme.gone",))
    moved = {one.tool_id: (one.before, one.after, one.is_redefined) for one in change.moved}
    assert moved == {"acme.gated": ("excluded", "loaded", False), "acme.edited": ("loaded", "loaded", True)}
    assert set(change.causes) == {"feature_gates", "workspace"}
    assert change.to_record()["added"] == ["acme.fresh"]


def test_equal_surfaces_do_not_differ() -> None:
    view = make_view(make_tool())
    assert not compare_surfaces(make_surface(view), make_surface(view))


def test_a_selection_is_a_difference() -> None:
    old = make_surface(make_view(make_tool()), make_request(defer_above=0))
    change = compare_surfaces(old, select(old, ["search"], "sea", new_id=new_id, now=2))
    assert [(one.before, one.after) for one in change.moved] == [("deferred", "loaded")]
    assert change.causes == ("selection",)
