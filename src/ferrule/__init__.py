"""Ferrule serves tools to AI agents: it compiles definition files, runs calls under rules, and keeps the record.

This package root holds the list of public names and nothing else. They load on first use, so `import ferrule` costs
almost nothing. Twelve packages in ten import layers lie below it; `[tool.importlinter]` in pyproject.toml draws them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule.app.app import App as App
    from ferrule.app.assembly import open_app as _open_app
    from ferrule.app.assembly import open_sync as open_sync
    from ferrule.contracts.executor import Context as Context
    from ferrule.errors import FerruleError as FerruleError
    from ferrule.model.diagnostic import Diagnostic as Diagnostic
    from ferrule.model.diagnostic import Severity as Severity
    from ferrule.model.report import Report as Report
    from ferrule.model.result import Pending as Pending
    from ferrule.model.result import Result as Result
    from ferrule.model.tool import Tool as Tool
    from ferrule.runtime.functions import Inject as Inject
    from ferrule.runtime.functions import ToolFailed as ToolFailed
    from ferrule.runtime.functions import prompt as prompt
    from ferrule.runtime.functions import resource as resource
    from ferrule.runtime.functions import service as service
    from ferrule.runtime.functions import tool as tool
    from ferrule.runtime.hooks.function import hook as hook
    from ferrule.workspace.workspace import Workspace as Workspace

    open = _open_app  # noqa: A001  the name people type; an import under another name is no export to a strict checker

__version__ = "0.1.0"

_PUBLIC = {
    "App": "ferrule.app.app",
    "Context": "ferrule.contracts.executor",
    "Diagnostic": "ferrule.model.diagnostic",
    "FerruleError": "ferrule.errors",
    "Inject": "ferrule.runtime.functions",
    "hook": "ferrule.runtime.hooks.function",
    "Pending": "ferrule.model.result",
    "Report": "ferrule.model.report",
    "Result": "ferrule.model.result",
    "Severity": "ferrule.model.diagnostic",
    "Tool": "ferrule.model.tool",
    "ToolFailed": "ferrule.runtime.functions",
    "Workspace": "ferrule.workspace.workspace",
    "open": "ferrule.app.assembly:open_app",
    "open_sync": "ferrule.app.assembly",
    "prompt": "ferrule.runtime.functions",
    "resource": "ferrule.runtime.functions",
    "service": "ferrule.runtime.functions",
    "tool": "ferrule.runtime.functions",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module, _, attribute = _PUBLIC[name].partition(":")
        return getattr(import_module(module), attribute or name)
    raise AttributeError(f"module 'ferrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
