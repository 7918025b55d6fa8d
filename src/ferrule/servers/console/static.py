"""Files of the console that are the same for everybody: styles, script, the mark. They ship with the package."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ferrule.servers.asgi import Answer, Header, Request

FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
_FOR_EVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")


@cache
def _files() -> dict[str, tuple[bytes, bytes, str]]:
    """Content, type and version of each file by its name below the folder."""
    found = {}
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in _TYPES:
            data = file.read_bytes()
            found[file.relative_to(FOLDER).as_posix()] = (
                data,
                _TYPES[file.suffix],
                hashlib.sha256(data).hexdigest()[:12],
            )
    return found


def address_of(name: str) -> str:
    """Where a file is: another address for other content, so that browsers may keep it."""
    return f"/console/static/{name}?v={_files()[name][2]}"


def static_file(request: Request, name: str) -> Answer | None:
    """A file; None when there is none of that name."""
    found = _files().get(name)
    if found is None or request.method not in ("GET", "HEAD"):
        return None
    return Answer(200, found[0], [(b"content-type", found[1]), _FOR_EVER])
