"""Writing the output of a call to a file: whole and verified, or not at all; and never over a file unasked."""

from __future__ import annotations

import mimetypes
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from ferrule.cli.show.progress import ProgressBar
from ferrule.contracts.payloads import Kept, address_of
from ferrule.errors import WorkspaceError
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.result import Result


class Saved(NamedTuple):
    """One file that was written."""

    path: Path
    size: int
    is_verified: bool


class Content(NamedTuple):
    """The content of a result that needed no store."""

    data: bytes
    suffix: str


def content_of(result: Result) -> Content:
    """What a result itself has of its output."""
    if result.structured_content is not None:
        return Content(msgspec.json.format(msgspec.json.encode(result.structured_content)) + b"\n", ".json")
    if all(block.get("type") == "text" for block in result.content):
        return Content(result.text.encode(errors="replace"), ".txt")
    return Content(msgspec.json.format(msgspec.json.encode(result.content)) + b"\n", ".json")


async def written_out(payloads: FilePayloads, kept: list[Kept], result: Result) -> None:
    """Print the whole output as it is. Raises PayloadGone."""
    out = sys.stdout.buffer
    if not kept:
        out.write(content_of(result).data)
    for one in kept:
        async for chunk in payloads.stream(one.uri):
            out.write(chunk)
    out.flush()


async def save(payloads: FilePayloads, kept: list[Kept], result: Result, target: str, force: bool) -> list[Saved]:
    """Write the output to a file, or everything that is stored of it into a folder. Raises PayloadGone, WorkspaceError."""
    path = Path(target)
    if len(kept) > 1 and not path.is_dir():
        raise WorkspaceError(f"{len(kept)} outputs are stored of this call; name a folder that exists to save them in")
    if not kept:
        content = content_of(result)
        where = path / f"{result.invocation_id}{content.suffix}" if path.is_dir() else path
        return [await _write(where, _once(content.data), len(content.data), force=force, is_verified=False)]
    saved = []
    for one in kept:
        where = path / _name(one) if path.is_dir() else path
        saved.append(await _write(where, payloads.stream(one.uri), one.size, force=force, is_verified=True))
    return saved


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _name(kept: Kept) -> str:
    address = address_of(kept.uri)
    number = address.number if address is not None else 0
    suffix = mimetypes.guess_extension(kept.media_type.split(";")[0]) or ".bin"
    return kept.name or f"{kept.owner.invocation_id}-{number}{suffix}"


async def _write(path: Path, chunks: AsyncIterator[bytes], size: int, *, force: bool, is_verified: bool) -> Saved:
    """Beside its place first, so that a file under its own name is whole."""
    if path.exists() and not force:
        raise WorkspaceError(f"{path} is there already; --force replaces it")
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    done = 0
    try:
        with open(part, "xb") as file, ProgressBar("bytes") as bar:
            async for chunk in chunks:
                file.write(chunk)
                done += len(chunk)
                bar(done, size)
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(part, path)
        else:
            os.link(part, path)  # fails where a file appeared meanwhile
    except FileExistsError:
        raise WorkspaceError(f"{path} is there already; --force replaces it") from None
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(part)
    return Saved(path, done, is_verified)
