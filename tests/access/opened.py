"""The keys of a workspace, opened as a process does."""

from __future__ import annotations

from pathlib import Path

from ferrule.access.keys import Access
from ferrule.errors import AccessError


def access(root: Path, **environment: str) -> Access:
    """The keys as another process opens them."""
    return Access(root, environment)


def keys(root: Path) -> Path:
    """The folder that holds them."""
    return root / ".ferrule" / "keys"


def valid(here: Access, secret: str) -> bool:
    """True when a secret opens something."""
    try:
        here.authenticate(secret)
    except AccessError:
        return False
    return True
