"""The bytes of a document to import: a file, an address, or what comes through a pipe. Bounded, by the workspace's rules."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from ferrule.errors import WorkspaceError
from ferrule.infra.network.client import Client
from ferrule.infra.network.failures import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.redirects import Step, follow
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.workspace.workspace import Workspace

PIPE = "-"
MOST_BYTES = 64 * 1024**2
_SECONDS = 60.0
_ACCEPT = (("Accept", "application/json, application/yaml, text/yaml, */*;q=0.5"),)


def is_address(source: str) -> bool:
    """True for what is fetched."""
    return urlsplit(source).scheme in ("http", "https") if "://" in source else False


def document_of(workspace: Workspace, source: str) -> bytes:
    """The document at a source. Raises WorkspaceError."""
    if source == PIPE:
        return _bounded(sys.stdin.buffer.read(MOST_BYTES + 1), "what came through the pipe")
    if is_address(source):
        return asyncio.run(_fetched(workspace, source))
    if "://" in source:
        raise WorkspaceError(f"{source!r} cannot be fetched; give an http or https address, or a file")
    return _read(Path(source))


def files_beside(workspace: Workspace, source: str) -> Callable[[str], bytes | None] | None:
    """How files are read that a local document refers to: from its own folder or the workspace, and nowhere else."""
    if source == PIPE or is_address(source):
        return None
    folder = os.path.realpath(os.path.dirname(os.path.abspath(source)))
    allowed = (folder, os.path.realpath(workspace.root))

    def read(name: str) -> bytes | None:
        path = os.path.realpath(os.path.join(folder, name))
        if not any(os.path.commonpath((path, root)) == root for root in allowed) or not os.path.isfile(path):
            return None
        return _read(Path(path))

    return read


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            return _bounded(b"x" * (MOST_BYTES + 1), str(path))
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"cannot read {path}: {error.strerror}; give a file, an address or '-'") from None


def _bounded(data: bytes, what: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise WorkspaceError(f"{what} is larger than {MOST_BYTES // 1024**2} MB; cut it into smaller documents first")
    return data


async def _fetched(workspace: Workspace, source: str) -> bytes:
    parts = urlsplit(source)
    if parts.username or parts.password:
        raise WorkspaceError(
            "the address holds a password, which would be written down; fetch the document yourself, and pipe it"
        )
    client = Client(Guard(workspace.settings.network.allow))
    try:
        async with asyncio.timeout(_SECONDS):
            followed = await follow(client, Step("GET", parse_url(source), _ACCEPT))
            body = await followed.response.read(MOST_BYTES)
    except TimeoutError:
        raise WorkspaceError(
            f"{parts.netloc} gave no document within {_SECONDS:.0f} seconds; try again, or pipe it"
        ) from None
    except (Forbidden, BadUrl, BadRequest, Unreachable, BrokenAnswer, TooLong) as error:
        raise WorkspaceError(f"{source} cannot be fetched: {error}") from None
    finally:
        await client.aclose()
    if followed.response.status != 200:
        raise WorkspaceError(
            f"{source} answers with status {followed.response.status}; fetch it another way, and pipe it"
        )
    return body
