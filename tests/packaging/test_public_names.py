"""The public names, pinned: adding one is a decision, removing one breaks somebody."""

from __future__ import annotations

import subprocess
import sys

import ferrule

NAMES = {
    "App",
    "Context",
    "Diagnostic",
    "FerruleError",
    "Inject",
    "Pending",
    "Report",
    "Result",
    "Severity",
    "Tool",
    "ToolFailed",
    "Workspace",
    "__version__",
    "hook",
    "open",
    "open_sync",
    "prompt",
    "resource",
    "service",
    "tool",
}


def test_public_names_are_these_and_load() -> None:
    assert set(ferrule.__all__) == NAMES
    for name in NAMES:
        assert getattr(ferrule, name)


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = (
        "import sys, ferrule; print([name for name in ('msgspec', 'click', 'rich', 'yaml') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
