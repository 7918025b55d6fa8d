"""The files of a ledger, and the trusted keys that may have signed it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ferrule.contracts.ledger import SourceDamaged
from ferrule.definitions.compiler.seal import load_key, public_half, read_trusted_keys
from ferrule.errors import LedgerError
from ferrule.ledger.stores.sqlite.connection import LedgerKeys
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.ledger.stores.witness import FileWitness
from ferrule.workspace.workspace import Workspace

KEYS = ".ferrule/keys"


class LedgerPaths(NamedTuple):
    """The files of a ledger."""

    ledger: Path
    key: Path
    """The private key that signs heads."""
    public: Path
    """Its public half, and those of earlier keys."""
    witness: Path | None = None
    """The witness of signed heads, when that is a file."""


def ledger_paths(workspace: Workspace, ledger: str | None = None) -> LedgerPaths:
    """Returns the files of a workspace's ledger; `ledger` names another one."""
    settings = workspace.settings.ledger
    file = Path(ledger) if ledger is not None else workspace.root / settings.path
    keys = workspace.root / KEYS
    beside = file.absolute().parent / "keys"
    if ledger is not None and (beside / "ledger.pub").is_file():
        keys = beside
    # The workspace's witness knows nothing of another ledger.
    witness = settings.witness if ledger is None and "://" not in settings.witness else ""
    return LedgerPaths(file, keys / "ledger.key", keys / "ledger.pub", workspace.root / witness if witness else None)


def now() -> int:
    """Returns the time, in microseconds since 1970."""
    return time.time_ns() // 1000


def load_public_keys(paths: LedgerPaths, named: str | None = None) -> tuple[bytes, ...]:
    """Loads the keys that may have signed a ledger's head: those of a named file, else those of the workspace.

    Raises LedgerError when there is none, SealError when they cannot be read.
    """
    if named is not None:
        return _read_named_keys(named)
    keys = read_trusted_keys(paths.public)
    if not keys and paths.key.is_file():
        keys = (public_half(load_key(paths.key)),)
    if not keys:
        raise LedgerError(f"there is no key to check with: {paths.public} is missing; name a public key with --key")
    return keys


def _read_named_keys(file: str) -> tuple[bytes, ...]:
    if not Path(file).is_file():
        raise LedgerError(
            f"there is no key file {file!r}; --key takes a file with a line 'ed25519 …', such as ledger.pub"
        )
    keys = read_trusted_keys(file)
    if not keys:
        raise LedgerError(f"{file} holds no public key")
    return keys


def load_signing_keys(paths: LedgerPaths) -> LedgerKeys:
    """Loads the keys for writing to the ledger. Raises SealError when the private key is missing."""
    older = tuple(Ed25519PublicKey.from_public_bytes(key) for key in read_trusted_keys(paths.public))
    return LedgerKeys(load_key(paths.key), older)


def fingerprint(key: bytes) -> str:
    """Formats a public key as in a file of keys."""
    return base64.b64encode(key).decode()


def update_witness(paths: LedgerPaths) -> None:
    """Writes the ledger's last row to the witness, so that a rollback of this change is detected. Raises LedgerError."""
    if paths.witness is None:
        return
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        head = source.heads()[0]
    try:
        FileWitness(paths.witness).write(*head)
    except OSError as error:
        text = (
            f"it is done, but the witness {paths.witness} could not be told: {error.strerror}; it hears of the next row"
        )
        raise LedgerError(text) from None


@contextmanager
def translate_damage(ledger: Path) -> Iterator[None]:
    """Translates damage that is found while reading into a LedgerError."""
    try:
        yield
    except SourceDamaged as damage:
        raise LedgerError(f"the ledger {ledger} is damaged ({damage}); 'ferrule audit verify' tells more") from None
