"""Keeps releases: numbered, signed, never rewritten. Each record names its catalog and the record before it by
digest."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ferrule.definitions.compiler.pack import digest_of
from ferrule.errors import CatalogError, SealError, WorkspaceError
from ferrule.infra.atomic_files import flush_folder, write_whole

FOLDER = ".ferrule/releases"
_PREFIX = b"ferrule release 1\n"


class Release(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded release."""

    number: int
    digest: str
    """SHA-256 of the released catalog, which is beside the record as `<digest>.ferrule`."""
    released_at: str
    """ISO 8601, UTC."""
    released_by: str
    approved_by: str | None = None
    message: str | None = None
    tools: dict[str, str] = {}
    """Version by tool id, of everything in the catalog."""
    previous: str | None = None
    """SHA-256 of the record before this one."""
    seal: str = ""
    """Signature over the record without this field, in base64."""

    @property
    def catalog_name(self) -> str:
        """The catalog's file name."""
        return f"{self.digest}.ferrule"


def record(folder: Path, release: Release, catalog: bytes, key: Ed25519PrivateKey) -> Release:
    """Writes a release and its catalog. Raises WorkspaceError, also when another process released at the same
    moment."""
    sealed = msgspec.structs.replace(release, seal=base64.b64encode(key.sign(_encode_unsealed(release))).decode())
    # The catalog first: once the record is there, readers expect the catalog it names.
    write_whole(folder / release.catalog_name, catalog)
    path = folder / f"{release.number:04}.json"
    draft = folder / f".{path.name}.{os.getpid()}"
    write_whole(draft, msgspec.json.format(msgspec.json.encode(sealed, order="sorted"), indent=2) + b"\n")
    try:
        os.link(draft, path)  # unlike a rename, this never replaces a record that is there
    except FileExistsError:
        raise WorkspaceError(f"{path} was written by somebody else in the meantime; publish again") from None
    finally:
        os.unlink(draft)
    flush_folder(folder)
    return sealed


def read_releases(folder: Path, trusted: Iterable[bytes]) -> list[Release]:
    """Reads every release, oldest first. Raises CatalogError when a record is damaged, missing or not sealed by a
    trusted key."""
    keys = [Ed25519PublicKey.from_public_bytes(key) for key in trusted]
    found: list[Release] = []
    previous: str | None = None
    # By length first, so that 10000.json follows 9999.json.
    for path in sorted(folder.glob("[0-9]*.json"), key=lambda path: (len(path.name), path.name)):
        try:
            data = path.read_bytes()
            release = msgspec.json.decode(data, type=Release)
        except OSError as error:
            raise CatalogError(f"the release record {path} cannot be read: {error.strerror}") from None
        except msgspec.DecodeError as error:
            raise CatalogError(f"{path} is no release record: {error}") from None
        if not any(_is_sealed(release, key) for key in keys):
            raise SealError(
                f"{path} was changed after it was written, or sealed with a key this workspace does not trust"
            )
        # The chain of digests shows a removed or replaced record, which a valid seal alone would not.
        if release.previous != previous or release.number != len(found) + 1:
            raise SealError(f"{path} does not follow the record before it; a release was removed or exchanged")
        found.append(release)
        previous = digest_of(data)
    return found


def hash_record(folder: Path, release: Release) -> str:
    """Returns the digest by which the next record names this one."""
    return digest_of((folder / f"{release.number:04}.json").read_bytes())


def _is_sealed(release: Release, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(base64.b64decode(release.seal, validate=True), _encode_unsealed(release))
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def _encode_unsealed(release: Release) -> bytes:
    return _PREFIX + msgspec.json.encode(msgspec.structs.replace(release, seal=""), order="sorted")
