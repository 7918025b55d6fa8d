"""Large JSON costs what its size costs."""

from __future__ import annotations

import gc
import json

import pytest

from ferrule.servers.asgi import no_garbage


def test_nobody_looks_for_garbage_while_a_large_text_is_read() -> None:
    """Else one request of a few megabytes takes the whole process for many seconds."""
    text = b"[" + b",".join([b"[]"] * 300_000) + b"]"
    looked: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        looked.append(phase)

    gc.callbacks.append(note)
    try:
        with no_garbage(text):
            json.loads(text)
            assert not looked
        assert gc.isenabled()
        with pytest.raises(ValueError, match="oh"), no_garbage(text):
            raise ValueError("oh")
        assert gc.isenabled()
        with no_garbage(b"[]"):
            assert gc.isenabled()
    finally:
        gc.callbacks.remove(note)
