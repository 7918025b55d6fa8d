"""Makes and reads the workspace key. It is made once and kept outside every catalog; others trust its public half.

The private half is a PEM file that only its owner can read. The public half is a line of `ferrule.pub`.
"""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.registry import late
from ferrule.errors import SealError
from ferrule.infra.atomic_files import write_whole

_load_pem = late("cryptography.hazmat.primitives.serialization:load_pem_private_key")  # brings every other format

KEY_FILE = ".ferrule/keys/workspace.key"
PUBLIC_FILE = "ferrule.pub"
_WORD = "ed25519"
_PEM_BEGIN, _PEM_END = b"-----BEGIN PRIVATE KEY-----\n", b"\n-----END PRIVATE KEY-----\n"
_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
"""The bytes before the 32 of an Ed25519 key in the form we write (RFC 8410, section 7)."""
_PREAMBLE = "# Public keys whose sealed catalogs this workspace trusts, one a line. Keep this file in Git.\n"


def make_key(path: str | os.PathLike[str]) -> bytes:
    """Writes a new private key, readable by its owner alone and ignored by Git; returns the public half."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    ignore = file.parent / ".gitignore"
    if file.parent.name == "keys" and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    key = Ed25519PrivateKey.generate()
    pem = _PEM_BEGIN + base64.b64encode(_PKCS8 + key.private_bytes_raw()) + _PEM_END
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SealError(f"{file} exists already; a key is never overwritten") from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(pem)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        file.unlink()  # half a key would block the next attempt
        raise
    return public_half(key)


def load_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Reads the private key in a file. Raises SealError, which never shows what the file holds."""
    try:
        pem = Path(path).read_bytes()
        # Importing the library's PEM reader costs more than the rest of a command, so our own form is read by hand.
        key = _read_own_form(pem) or _load_pem(pem, password=None)
    except OSError as error:
        raise SealError(f"the key {os.fspath(path)} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise SealError(f"{os.fspath(path)} is not an unencrypted Ed25519 private key") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(f"{os.fspath(path)} holds a key of another kind; catalogs are sealed with Ed25519")
    return key


def _read_own_form(pem: bytes) -> Ed25519PrivateKey | None:
    """Reads a key in the form `make_key` writes; None for any other form, which the library reads."""
    if not pem.startswith(_PEM_BEGIN) or not pem.endswith(_PEM_END):
        return None
    try:
        written = base64.b64decode(pem[len(_PEM_BEGIN) : -len(_PEM_END)], validate=True)
    except binascii.Error:
        return None
    if len(written) != len(_PKCS8) + 32 or not written.startswith(_PKCS8):
        return None
    return Ed25519PrivateKey.from_private_bytes(written[len(_PKCS8) :])


def public_half(key: Ed25519PrivateKey) -> bytes:
    """Returns the 32 bytes that others verify with."""
    return key.public_key().public_bytes_raw()


def trust(path: str | os.PathLike[str], public: bytes) -> bool:
    """Adds a public key to a workspace's `ferrule.pub`; returns False when it was there already."""
    file = Path(path)
    text = _read_text(file) if file.is_file() else _PREAMBLE
    if public in _parse_keys(text, file):
        return False
    line = f"{_WORD} {base64.b64encode(public).decode()}\n"
    write_whole(file, (text + ("" if text.endswith("\n") else "\n") + line).encode())
    return True


def read_trusted_keys(path: str | os.PathLike[str]) -> tuple[bytes, ...]:
    """Reads the public keys of a `ferrule.pub`; none when there is no such file. Raises SealError."""
    file = Path(path)
    if not file.is_file():
        return ()
    return _parse_keys(_read_text(file), file)


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SealError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SealError(f"{file} is no list of public keys: it is not UTF-8 text") from None


def _parse_keys(text: str, file: Path) -> tuple[bytes, ...]:
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        word, _, encoded = line.strip().partition(" ")
        try:
            key = base64.b64decode(encoded.split(" ")[0], validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if word != _WORD or len(key) != 32:
            raise SealError(f"{file} line {number} is no public key; a line reads '{_WORD} <32 bytes in base64>'")
        keys.append(key)
    return tuple(keys)
