"""The parts of an app, as `assembly` builds them and `App` uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from ferrule.app.policy_source import PolicyProvider
from ferrule.app.resources import ProcessResources
from ferrule.contracts.executor import Executor
from ferrule.contracts.store import Store
from ferrule.contracts.surface import CatalogView, Readiness
from ferrule.infra.clock import Clock, MakeId
from ferrule.model.surface import SurfaceSettings
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.notices import Notices
from ferrule.runtime.executors.caching import ResultCache
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from ferrule.runtime.pipeline.services import Services


class Parts(msgspec.Struct, kw_only=True):
    """Everything an app is made of; `assembly` builds it."""

    store: Store
    clock: Clock
    new_id: MakeId
    catalog: CatalogView
    policy: PolicyProvider
    executors: tuple[Executor, ...] = ()
    installed: Callable[[], tuple[Executor, ...]] = tuple
    """Makes the executors of other packages. Called for the first tool that no executor of ours can run: finding them is slow."""
    key: ApprovalKey
    services: Services
    remake_catalog: Callable[[], CatalogView]
    """Builds the catalog from the current definitions; slow, and safe in a thread. Raises FerruleError."""
    readiness: Readiness | None = None
    readiness_state: Callable[[], object] = lambda: None
    """Returns another value once tools may have become ready, or stopped being so: the file of secrets changed."""
    name: str = "ferrule"
    """The workspace, as events and records name it."""
    root: Path = Path()
    """The workspace's folder."""
    surface_settings: SurfaceSettings = SurfaceSettings()
    fired: FiredRuns
    """The runs whose input guardrail fired."""
    cache: ResultCache
    """Cached results of retrievals."""
    notices: Notices
    """Notifies people of waiting calls, of reminders, and of tasks that are handed on."""
    outside: ProcessResources
    """The connections to other systems, and the authorizations of users there."""
    tends: bool = True
    """True: runs housekeeping, which recovers lost calls, ends expired ones and resumes answered ones."""
    closing: tuple[Callable[[], Awaitable[None] | None], ...] = ()
    """Closes further resources, in this order."""
