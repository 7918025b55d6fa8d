"""Fakes for tests of tools and policies: an app in memory, a clock to move, parts that follow a script. Public.

from ferrule.testing import FakeClock, RecordingSink, ScriptedApprover, ScriptedExecutor, memory_app

Top layer: it imports `app` and every layer below, never `cli` or `adapters`. It does not know the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule.testing.app import ScriptedApprover as ScriptedApprover
    from ferrule.testing.app import memory_app as memory_app
    from ferrule.testing.fakes import FakeClock as FakeClock
    from ferrule.testing.fakes import RecordingSink as RecordingSink
    from ferrule.testing.fakes import ScriptedExecutor as ScriptedExecutor
    from ferrule.testing.fakes import failure as failure

_PUBLIC = {
    "FakeClock": "ferrule.testing.fakes",
    "RecordingSink": "ferrule.testing.fakes",
    "ScriptedApprover": "ferrule.testing.app",
    "ScriptedExecutor": "ferrule.testing.fakes",
    "failure": "ferrule.testing.fakes",
    "memory_app": "ferrule.testing.app",
}
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ferrule.testing' has no attribute {name!r}")
