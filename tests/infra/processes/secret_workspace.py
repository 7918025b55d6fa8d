"""A workspace with a secret in its keys, its settings and beside it, and its confinement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.infra.processes.recording import make_confinement

SECRET = "top-secret-value"


def write_secret_workspace(root: Path, **said: Any) -> Any:
    """A confinement that protects the workspace's keys, settings and rules."""
    names = (".ferrule", "ferrule.toml", "policy.toml", "conf/rules.toml")
    return make_confinement(root, protected=tuple(root / name for name in names), **said)
