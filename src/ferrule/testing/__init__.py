"""Fakes for tests of tools and policies: an app in memory, a clock to move, parts that follow a script. Public.

from ferrule.testing import FakeClock, RecordingSink, ScriptedApprover, ScriptedExecutor, memory_app

Top layer: it imports `app` and every layer below, never `cli` or `adapters`. It does not know the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule.testing.app import memory_app as memory_app
    from ferrule.testing.approver import ScriptedApprover as ScriptedApprover
    from ferrule.testing.clock import FakeClock as FakeClock
    from ferrule.testing.executor import ScriptedExecutor as ScriptedExecutor
    from ferrule.testing.executor import failure as failure
    from ferrule.testing.sink import RecordingSink as RecordingSink

_PUBLIC = {
    "FakeClock": "ferrule.testing.clock",
    "RecordingSink": "ferrule.testing.sink",
    "ScriptedApprover": "ferrule.testing.approver",
    "ScriptedExecutor": "ferrule.testing.executor",
    "failure": "ferrule.testing.executor",
    "memory_app": "ferrule.testing.app",
}
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ferrule.testing' has no attribute {name!r}")
