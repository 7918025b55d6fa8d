"""Records changes of what calls are judged by: the catalog, the policy, surfaces and switches.

These rows belong to no call. A ledger that cannot be written stops calls by itself, so a missing row is only logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import get_args

from ferrule.contracts.store import Store
from ferrule.contracts.surface import CatalogView
from ferrule.errors import LedgerUnavailable
from ferrule.model.journal import Entry, Kind, Mark, Payload
from ferrule.model.surface import Standing, Surface

STANDINGS: tuple[Standing, ...] = get_args(Standing)
_log = logging.getLogger("ferrule.app")


class ChangeLog:
    """Writes the rows of one app that are about no single call."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now

    def record_surface(self, surface: Surface, change: str, **facts: object) -> None:
        """Records that a surface was created or updated, or that tools were found on it."""
        request = surface.request
        told = {
            "surface_id": surface.surface_id,
            "change": change,
            "scope": request.scope,
            "agent": request.agent,
            "principal": request.principal,
            "tenant": request.tenant,
            "counts": {standing: len(surface.standing(standing)) for standing in STANDINGS},
            **facts,
        }
        self._record("surface", change, told)

    def record_catalog(self, before: CatalogView | None, after: CatalogView) -> None:
        """Records the adoption of a catalog, with the tools it declares anew and those it drops."""
        old = {listed.tool.tool_id: listed.digest for listed in before.list_preferred()} if before is not None else {}
        new = {listed.tool.tool_id: listed.digest for listed in after.list_preferred()}
        declared = [tool_id for tool_id, digest in new.items() if old.get(tool_id) != digest]
        removed = [tool_id for tool_id in old if tool_id not in new]
        self._record("catalog", "adopted", {"digest": after.digest, "declared": declared, "removed": removed})

    def record_policy(self, digest: str, text: str) -> None:
        """Records that a policy is in force, with its text."""
        self._record("policy", "in_force", {"digest": digest}, Payload(text=text.encode()))

    async def commit_switch(self, tool_id: str, to: str, by: str, reason: object) -> None:
        """Commits that a tool was turned on or off, and wakes the other processes. Raises LedgerError."""
        facts = {"tool_id": tool_id, "to": to, "by": by, "reason": reason}
        mark = Mark(tool_id=tool_id, switch=to)
        await self._store.commit(Entry("switch", "", self._now(), tool_id, to, facts, None, mark))
        self._store.bump()

    async def last_digest(self, kind: Kind) -> str:
        """Returns the digest of the catalog or policy that the ledger recorded last."""
        rows = await self._store.rows_before(None, 1, kinds=(kind,))
        return str(rows[0].facts().get("digest", "")) if rows else ""

    def _record(self, kind: Kind, outcome: str, facts: dict[str, object], payload: Payload | None = None) -> None:
        try:
            self._store.record(Entry(kind, "", self._now(), "", outcome, facts, payload))
        except LedgerUnavailable as error:
            _log.warning("a %s row could not be written: %s", kind, error)
