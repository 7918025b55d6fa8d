"""`ferrule serve` in a process that tells what it holds inside: `python -m tests.servers.soak.watched FILE OPTIONS…`.

On SIGUSR1 it writes to the file, as JSON, how many of everything there are that come and go with clients.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from pathlib import Path

from ferrule.app.surface import SurfaceHandle
from ferrule.cli import main
from ferrule.infra import tasks
from ferrule.servers.http1.connection import ServerConnection
from ferrule.servers.http1.request import Http1Request
from ferrule.servers.mcp.transports.session_store import HttpSession
from ferrule.servers.mcp.transports.stdio import StdioConversation
from ferrule.servers.mcp.transports.streams import EventStream

COUNTED = {
    "connections": ServerConnection,
    "requests": Http1Request,
    "sessions": HttpSession,
    "streams": EventStream,
    "surfaces": SurfaceHandle,
    "conversations": StdioConversation,
}


def counted() -> dict[str, int]:
    """How many there are, after what nobody uses was let go of."""
    gc.collect()
    objects = gc.get_objects()
    found = {name: sum(1 for one in objects if type(one) is kind) for name, kind in COUNTED.items()}
    found["tasks"] = sum(1 for one in objects if isinstance(one, asyncio.Task) and not is_spare(one))
    found["objects"] = len(objects)
    objects.clear()  # it lists the cell that it is in: left to the collector, it would keep alive all that was there
    return found


def is_spare(task: asyncio.Task[object]) -> bool:
    """True for the one task that servers keep ready for the next request: sometimes it is there, sometimes it is in use."""
    carrier = task.get_coro()
    return isinstance(carrier, tasks._Carrier) and carrier._running is None


def tell(file: Path) -> None:
    """Write it down, whole or not at all."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(counted()))
    os.replace(part, file)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    signal.signal(signal.SIGUSR1, lambda number, frame: tell(place))
    sys.exit(main(sys.argv[2:]))
