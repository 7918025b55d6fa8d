"""What was found out about one tool, or about one thing of a workspace: for `ferrule doctor`."""

from __future__ import annotations

from typing import Literal

import msgspec

Health = Literal["works", "unproven", "warned", "broken", "off"]
"""`works`: it was tried. `unproven`: nothing is wrong, and nothing could be tried. `warned`: it works, and something should be
seen to. `off`: not in use, by definition or by `ferrule disable`."""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a doctor's report."""

    name: str
    """The tool's id; for the workspace, what was looked at."""
    kind: str
    """How the tool is reached: its transport, `function`, `shell`, `builtin`; `workspace` for the rest."""
    health: Health
    told: str
    """What was found: the cause, and what to do. One line, no secret."""
    code: str = ""
    """The finer error code, where something is wrong."""
    milliseconds: float = 0.0
    """How long it took to find out."""
