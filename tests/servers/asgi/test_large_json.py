"""Large JSON costs what its size costs."""

from __future__ import annotations

import gc
import json

import pytest

from ferrule.servers.asgi import pause_garbage_collection


def test_nobody_looks_for_garbage_while_a_large_text_is_read() -> None:
    """Else one request of a few megabytes takes the whole process for many seconds."""
    text = b"[" + b",".join([b"[]"] * 300_000) + b"]"
    looked: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        looked.append(phase)

    gc.callbacks.append(note)
    try:
        with pause_garbage_collection(text):
            json.loads(text)
            assert not looked
        assert gc.isenabled()
        with pytest.raises(ValueError, match="oh"), pause_garbage_collection(text):
            raise ValueError("oh")
        assert gc.isenabled()
        with pause_garbage_collection(b"[]"):
            assert gc.isenabled()
    finally:
        gc.callbacks.remove(note)
