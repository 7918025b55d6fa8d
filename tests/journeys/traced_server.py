"""`ferrule serve` that writes down which of our modules its event loop enters.

python tests/journeys/traced_server.py FILE serve ...

SIGUSR1 begins a trace. SIGUSR2 ends it and writes the modules to FILE as JSON, in the order in which they were entered.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from ferrule.cli import main

FILE = Path(sys.argv[1])
entered: list[str] = []


def note(frame: FrameType, event: str, argument: Any) -> None:
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("ferrule.") and entered[-1:] != [name]:
        entered.append(name)


def begin(*_: object) -> None:
    entered.clear()
    sys.setprofile(note)


def end(*_: object) -> None:
    sys.setprofile(None)
    part = FILE.with_suffix(".part")
    part.write_text(json.dumps(entered))
    os.replace(part, FILE)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, end)
    sys.argv = ["ferrule", *sys.argv[2:]]
    sys.exit(main())
