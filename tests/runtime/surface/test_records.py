"""Which scheduler policy a surface follows."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.errors import SurfaceError
from ferrule.testing import memory_app

POLICY = {
    "schema_version": "0.2.0",
    "scheduler_policy_id": "reads",
    "scope": "turn",
    "max_parallel": 3,
    "ordering_policy": "allow_unordered",
    "yield_policy": "unordered_streaming",
    "context_modifier_policy": "forbid",
    "resource_locks": [{"key": "desk"}],
}


def definitions(**changes: Any) -> dict[str, str]:
    surface = {"schema_version": "0.2.0", "surface_id": "desk", "scope": "session", "scheduler_policy_ref": "reads"}
    return {
        "policy.tool.json": json.dumps(POLICY | changes),
        "surface.tool.json": json.dumps(surface),
    }


def test_at_163_a_surface_follows_the_policy_it_names() -> None:
    """AT-163, AT-166: by its record, or by the request; what the record leaves out stays as the workspace has it."""

    async def story() -> None:
        async with memory_app(definitions=definitions()) as app:
            for surface in (app.surface(surface_id="desk"), app.surface(scheduler_policy="reads")):
                policy = surface.session.lane.policy
                assert (policy.max_parallel, policy.is_unordered, policy.scope) == (3, True, "surface")
                assert [lock.key for lock in policy.resource_locks] == ["desk"]
                assert policy.sibling_failure_policy == "ignore"
            assert app.surface().session.lane.policy.max_parallel == 32
            with pytest.raises(SurfaceError, match="no scheduler policy 'writes'"):
                app.surface(scheduler_policy="writes")

    asyncio.run(story())


def test_a_policy_that_cannot_be_meant_is_not_passed_over() -> None:
    async def story() -> None:
        async with memory_app(definitions=definitions(resource_locks=[{"kei": "desk"}])) as app:
            with pytest.raises(SurfaceError, match="cannot be followed"):
                app.surface(scheduler_policy="reads")

    asyncio.run(story())
