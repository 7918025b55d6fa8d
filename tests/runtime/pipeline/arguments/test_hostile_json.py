"""Arguments that are refused for their size: on record by their length and digest, and nobody waits while they are looked at."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

import ferrule
from ferrule.model.result import Result
from ferrule.runtime.pipeline.arguments.hostile_json import MAX_BYTES
from ferrule.testing import memory_app
from tests.spec.running_app import run_async


@ferrule.tool(read_only=True)
def echo(text: str) -> str:
    """The same again."""
    return text


@pytest.mark.parametrize("name", ["echo", "nowhere"])
@run_async
async def test_what_is_too_large_is_told_by_its_digest(name: str) -> None:
    """AT-109"""
    written = msgspec.json.encode({"text": "x" * MAX_BYTES})
    async with memory_app(tools=[echo]) as app:
        result = await app.surface().call(name, written)
        assert isinstance(result, Result) and result.error is not None
        (row,) = await app.store.rows_of(result.invocation_id)
        assert row.payload is not None and len(row.payload) < 1000
        assert hashlib.sha256(written).hexdigest().encode() in row.payload
        assert str(len(written)).encode() in row.payload


@run_async
async def test_what_is_just_small_enough_is_kept_whole() -> None:
    text = "x" * (MAX_BYTES - len(b'{"text":""}'))
    async with memory_app(tools=[echo]) as app:
        result = await app.surface().call("echo", {"text": text})
        assert isinstance(result, Result) and result.error is None
        (row,) = await app.store.rows_of(result.invocation_id)
        assert row.payload is not None and text.encode() in row.payload
