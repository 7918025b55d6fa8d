"""The ledger of a workspace: its file, the key that signs its heads, and its witness."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.registry import late
from ferrule.contracts.store import Store, Witness
from ferrule.definitions.compiler.seal import load_key, make_key, public_half, trust
from ferrule.errors import LedgerError, SealError
from ferrule.infra.clock import Clock
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from ferrule.workspace.workspace import Workspace

if TYPE_CHECKING:
    from ferrule.app.network import Network

LEDGER_KEY = ".ferrule/keys/ledger.key"
LEDGER_PUBLIC = ".ferrule/keys/ledger.pub"

_network: Callable[..., Network] = late("ferrule.app.network:Network")
_webhook_witness: Callable[..., Witness] = late("ferrule.ledger.stores.web_witness:WebhookWitness")


@asynccontextmanager
async def open_store(path: str | Path = ".") -> AsyncIterator[Store]:
    """Opens only the ledger of the workspace around a path, for reading. Raises LedgerError when there is none yet."""
    workspace = Workspace.open(path)
    if not (workspace.root / workspace.settings.ledger.path).exists():
        raise LedgerError("there is no ledger here yet; it begins with the first 'ferrule call'")
    store = make_ledger(workspace, Clock())
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def make_ledger(workspace: Workspace, clock: Clock) -> SqliteStore:
    """Makes the workspace's ledger, not open yet, and its key if there is none."""
    settings = workspace.settings.ledger
    path = workspace.root / settings.path
    path.parent.mkdir(parents=True, exist_ok=True)
    return SqliteStore(
        path,
        load_ledger_key(workspace),
        witness=_make_witness(workspace, settings.witness),
        behind_seconds=settings.behind_seconds,
        clock=clock.now,
    )


def load_ledger_key(workspace: Workspace) -> Ed25519PrivateKey:
    """Loads the key that signs the ledger's heads, and makes it if there is none."""
    file = workspace.root / LEDGER_KEY
    if not file.exists():
        with suppress(SealError):  # another process made it just now
            make_key(file)
    key = load_key(file)
    trust(workspace.root / LEDGER_PUBLIC, public_half(key))
    return key


def _make_witness(workspace: Workspace, where: str) -> Witness | None:
    if not where:
        return None
    if "://" in where:
        network = _network(workspace.settings, os.environ, workspace.root)
        return _webhook_witness(network.make_client, where)
    return FileWitness(workspace.root / Path(where).expanduser())
