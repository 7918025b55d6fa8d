"""Ferrule fastens tools to agents: definition files in, diagnostics and a sealed catalog out.

The public names load on first use, so `import ferrule` costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule.errors import FerruleError as FerruleError
    from ferrule.model.diagnostic import Diagnostic as Diagnostic
    from ferrule.model.diagnostic import Severity as Severity
    from ferrule.model.report import Report as Report
    from ferrule.model.tool import Tool as Tool
    from ferrule.workspace import Workspace as Workspace

__version__ = "0.1.0"

_PUBLIC = {
    "Diagnostic": "ferrule.model.diagnostic",
    "FerruleError": "ferrule.errors",
    "Report": "ferrule.model.report",
    "Severity": "ferrule.model.diagnostic",
    "Tool": "ferrule.model.tool",
    "Workspace": "ferrule.workspace",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ferrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
