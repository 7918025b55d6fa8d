"""Ferrule serves tools to AI agents: it compiles definition files, runs calls under rules, and keeps the record.

This package root holds the list of public names and nothing else. They load on first use, so `import ferrule` costs
almost nothing. Twelve packages in ten import layers lie below it; `[tool.importlinter]` in pyproject.toml draws them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule.access.keys import Access as Access
    from ferrule.app.app import App as App
    from ferrule.app.blocking import open_sync as open_sync
    from ferrule.app.call_records import CallRecords as CallRecords
    from ferrule.app.export import export_surface as export_surface
    from ferrule.app.opening import open_app as _open_app
    from ferrule.contracts.executor import Context as Context
    from ferrule.errors import AccessError as AccessError
    from ferrule.errors import BatchError as BatchError
    from ferrule.errors import BindingError as BindingError
    from ferrule.errors import BuildRefused as BuildRefused
    from ferrule.errors import CatalogError as CatalogError
    from ferrule.errors import ExtraMissing as ExtraMissing
    from ferrule.errors import FerruleError as FerruleError
    from ferrule.errors import InboxError as InboxError
    from ferrule.errors import LedgerDamaged as LedgerDamaged
    from ferrule.errors import LedgerError as LedgerError
    from ferrule.errors import LedgerUnavailable as LedgerUnavailable
    from ferrule.errors import OutcomeUnrecorded as OutcomeUnrecorded
    from ferrule.errors import PolicyError as PolicyError
    from ferrule.errors import SealError as SealError
    from ferrule.errors import SettingsError as SettingsError
    from ferrule.errors import SurfaceError as SurfaceError
    from ferrule.errors import UnfitAnswer as UnfitAnswer
    from ferrule.errors import UnknownBinding as UnknownBinding
    from ferrule.errors import WorkspaceError as WorkspaceError
    from ferrule.infra.network.post import is_authentic as _is_authentic
    from ferrule.infra.network.post import sign as _signature
    from ferrule.ledger.history.replay import replay_events as _replay
    from ferrule.ledger.history.summary import read_brief as _brief_of
    from ferrule.model.diagnostic import Diagnostic as Diagnostic
    from ferrule.model.diagnostic import Report as Report
    from ferrule.model.diagnostic import Severity as Severity
    from ferrule.model.result import Pending as Pending
    from ferrule.model.result import Result as Result
    from ferrule.model.scheduling import Claim as _Claim
    from ferrule.model.scheduling import SchedulerPolicy as SchedulerPolicy
    from ferrule.model.surface import SurfaceRequest as SurfaceRequest
    from ferrule.model.tool import Tool as Tool
    from ferrule.model.upstreams import CacheUpstreams as _CacheUpstreams
    from ferrule.runtime.functions import Arguments as Arguments
    from ferrule.runtime.functions import Inject as Inject
    from ferrule.runtime.functions import ToolFailed as ToolFailed
    from ferrule.runtime.functions import prompt as prompt
    from ferrule.runtime.functions import resource as resource
    from ferrule.runtime.functions import service as service
    from ferrule.runtime.functions import tool as tool
    from ferrule.runtime.hooks.function import hook as hook
    from ferrule.runtime.scheduler.scheduler import Scheduler as Scheduler
    from ferrule.runtime.surface.build import build_surface as build_surface
    from ferrule.runtime.surface.catalogs import SealedCatalog as SealedCatalog
    from ferrule.runtime.surface.changes import compare_surfaces as _difference
    from ferrule.runtime.surface.render import render as _render
    from ferrule.runtime.surface.search import search as _search
    from ferrule.runtime.surface.search import select as _select
    from ferrule.settings import NetworkSettings as NetworkSettings
    from ferrule.settings import Settings as Settings
    from ferrule.workspace.releases import build as _build
    from ferrule.workspace.releases import diff as _diff
    from ferrule.workspace.releases import publish as _publish
    from ferrule.workspace.staleness import load_catalog as load_catalog
    from ferrule.workspace.workspace import Workspace as Workspace

    # Assigned, because a strict checker does not export an import under another name.
    CacheSettings = _CacheUpstreams
    SchedulerClaim = _Claim
    build_catalog = _build
    compare_catalogs = _diff
    compare_surfaces = _difference
    is_authentic_webhook = _is_authentic
    open = _open_app  # noqa: A001  the name people type
    publish_catalog = _publish
    render_surface = _render
    replay_events = _replay
    search_surface = _search
    select_tools = _select
    sign_webhook = _signature
    summarise_call = _brief_of

__version__ = "0.1.0"

_PUBLIC = {
    "Access": "ferrule.access.keys",
    "AccessError": "ferrule.errors",
    "App": "ferrule.app.app",
    "Arguments": "ferrule.runtime.functions",
    "BatchError": "ferrule.errors",
    "BindingError": "ferrule.errors",
    "BuildRefused": "ferrule.errors",
    "CacheSettings": "ferrule.model.upstreams:CacheUpstreams",
    "CallRecords": "ferrule.app.call_records",
    "CatalogError": "ferrule.errors",
    "Context": "ferrule.contracts.executor",
    "Diagnostic": "ferrule.model.diagnostic",
    "ExtraMissing": "ferrule.errors",
    "FerruleError": "ferrule.errors",
    "InboxError": "ferrule.errors",
    "Inject": "ferrule.runtime.functions",
    "LedgerDamaged": "ferrule.errors",
    "LedgerError": "ferrule.errors",
    "LedgerUnavailable": "ferrule.errors",
    "NetworkSettings": "ferrule.settings",
    "OutcomeUnrecorded": "ferrule.errors",
    "Pending": "ferrule.model.result",
    "PolicyError": "ferrule.errors",
    "Report": "ferrule.model.diagnostic",
    "Result": "ferrule.model.result",
    "Scheduler": "ferrule.runtime.scheduler.scheduler",
    "SchedulerClaim": "ferrule.model.scheduling:Claim",
    "SchedulerPolicy": "ferrule.model.scheduling",
    "SealError": "ferrule.errors",
    "SealedCatalog": "ferrule.runtime.surface.catalogs",
    "Settings": "ferrule.settings",
    "SettingsError": "ferrule.errors",
    "Severity": "ferrule.model.diagnostic",
    "SurfaceError": "ferrule.errors",
    "SurfaceRequest": "ferrule.model.surface",
    "Tool": "ferrule.model.tool",
    "ToolFailed": "ferrule.runtime.functions",
    "UnfitAnswer": "ferrule.errors",
    "UnknownBinding": "ferrule.errors",
    "Workspace": "ferrule.workspace.workspace",
    "WorkspaceError": "ferrule.errors",
    "build_catalog": "ferrule.workspace.releases:build",
    "build_surface": "ferrule.runtime.surface.build",
    "compare_catalogs": "ferrule.workspace.releases:diff",
    "compare_surfaces": "ferrule.runtime.surface.changes:compare_surfaces",
    "export_surface": "ferrule.app.export",
    "hook": "ferrule.runtime.hooks.function",
    "is_authentic_webhook": "ferrule.infra.network.post:is_authentic",
    "load_catalog": "ferrule.workspace.staleness",
    "open": "ferrule.app.opening:open_app",
    "open_sync": "ferrule.app.blocking",
    "prompt": "ferrule.runtime.functions",
    "publish_catalog": "ferrule.workspace.releases:publish",
    "render_surface": "ferrule.runtime.surface.render:render",
    "replay_events": "ferrule.ledger.history.replay:replay_events",
    "resource": "ferrule.runtime.functions",
    "search_surface": "ferrule.runtime.surface.search:search",
    "select_tools": "ferrule.runtime.surface.search:select",
    "service": "ferrule.runtime.functions",
    "sign_webhook": "ferrule.infra.network.post:sign",
    "summarise_call": "ferrule.ledger.history.summary:read_brief",
    "tool": "ferrule.runtime.functions",
}
"""Every public name and its module, with `:name` where the name there is another. The one list: the rest follows it."""
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module, _, attribute = _PUBLIC[name].partition(":")
        return getattr(import_module(module), attribute or name)
    raise AttributeError(f"module 'ferrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
