"""A workspace's policy as it is written now, to be asked about calls by `ferrule policy explain` and `ferrule policy test`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any

from ferrule.app.preview.trial import Tested, Tried
from ferrule.app.preview.trial import Trial as Asked
from ferrule.runtime.policy.cases import Case
from ferrule.runtime.policy.engine import engine_of
from ferrule.runtime.policy.explain import Considered
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.surface.catalogs import SealedCatalog
from ferrule.workspace.releases import catalog_in_memory
from ferrule.workspace.workspace import Workspace


class Trial:
    """A workspace's tools and rules, to be asked about calls."""

    def __init__(self, workspace: Workspace, *, is_personal: bool) -> None:
        settings = workspace.settings
        policy = load_policy(
            workspace.root,
            settings.policy,
            os.environ,
            expires_seconds=settings.approval.expires_seconds,
            is_personal=is_personal,
        )
        self._asked = Asked(SealedCatalog(catalog_in_memory(workspace)), engine_of(policy))

    def try_call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> Tried:
        """The ruling for one call. Raises PolicyError when the caller has no such tool."""
        return asyncio.run(self._asked.try_call(name, arguments, caller))

    def test(self, cases: Iterable[Case]) -> list[Tested]:
        """What becomes of a table of cases."""
        return asyncio.run(self._asked.test(cases))

    def considered(self, tried: Tried) -> list[Considered]:
        """Every rule, with what came of it."""
        return self._asked.considered(tried)
