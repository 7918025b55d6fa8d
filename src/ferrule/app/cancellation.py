"""What became of a request to cancel a call: asked, heard, and how it ended are three different facts (AT-207)."""

from __future__ import annotations

from typing import Literal

import msgspec


class Cancellation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a request by the time it is answered."""

    invocation_id: str
    outcome: Literal["canceled", "cancel_failed", "requested"]
    """`requested`: the tool has not answered yet; the call goes on until it does, and ends with what really happened."""
    is_acknowledged: bool = False
    """True when whatever ran has stopped."""
    is_supported: bool | None = None
    """Whether the tool can be stopped at all; None when that is known only where it runs."""
    state: str = ""
    """The call's state now."""
    message: str = ""
