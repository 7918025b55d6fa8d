"""A workspace with one OXP server, and its tools pinned as they are now."""

from __future__ import annotations

from pathlib import Path

from ferrule.app.lock.pinning import accept_servers, review_servers
from ferrule.app.lock.reviews import LockReview
from ferrule.infra.lockfile.file import write_lock
from ferrule.workspace.workspace import Workspace
from tests.runtime.executors.oxp.upstream import ALLOW

AT = "2026-01-01T00:00:00Z"


def workspace(folder: Path, url: str, more: str = "") -> Workspace:
    (folder / "ferrule.toml").write_text(
        f'[network]\nallow = ["127.0.0.1"]\n[oxp.servers.up]\nurl = "{url}/oxp"\n{more}'
    )
    (folder / "policy.toml").write_text(ALLOW)
    return Workspace.open(folder)


async def locked(here: Workspace, *names: str) -> LockReview:
    found = await review_servers(here, {})
    write_lock(here.root, accept_servers(found, "ada", AT, names or None, firsts=True))
    return found
