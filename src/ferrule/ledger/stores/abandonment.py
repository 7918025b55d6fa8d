"""Which open calls some process is running, so that they are abandoned when it is gone."""

from __future__ import annotations

from ferrule.model.journal import OpenCall

_WAITING = frozenset({"awaiting_approval", "approved", "needs_input"})


def is_running(call: OpenCall) -> bool:
    """True unless the call waits for a person or for whoever takes it up: then nobody has to be there."""
    return bool(call.owner) and call.state not in _WAITING
