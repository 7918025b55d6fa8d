"""What a function raises becomes a failure in the words of the standard; its own text reaches the log alone."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.functions import tool
from tests.runtime.functions.runner import make_context, prepare_runner, run_to_end


def test_an_exceptions_text_reaches_the_log_and_no_model(caplog: pytest.LogCaptureFixture) -> None:
    """AT-245: it may hold a secret; where it happened is in the log, too."""

    @tool(inline=True)
    def leak(card: str) -> None:
        """Leak."""
        raise KeyError(card)

    with caplog.at_level(logging.INFO, "ferrule.tools"), pytest.raises(ExecutionFailed) as caught:
        prepare_runner(leak)({"card": "4111"}, make_context())
    assert caught.value.message == "tool 'leak' failed (KeyError): the details are in the log"
    assert caught.value.native_error_ref == "python:KeyError"
    assert "tool 'leak' failed: KeyError: '4111'\n" in caplog.text
    assert "raise KeyError(card)" in caplog.text


def test_a_text_that_is_too_long_for_the_log_is_left_out_whole(caplog: pytest.LogCaptureFixture) -> None:
    @tool(inline=True)
    def long() -> None:
        """Say much."""
        raise ValueError("blah" * 2000)

    with caplog.at_level(logging.INFO, "ferrule.tools"), pytest.raises(ExecutionFailed):
        prepare_runner(long)({}, make_context())
    assert "tool 'long' failed: ValueError (8,012 characters, left out)\n" in caplog.text
    assert "blahblah" not in caplog.text


def test_a_function_that_times_out_by_itself_is_a_timeout() -> None:
    @tool
    async def slow() -> None:
        """Take too long."""
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    with pytest.raises(ExecutionFailed) as caught:
        run_to_end(lambda: prepare_runner(slow)({}, make_context()))
    assert caught.value.error_class == "timeout"
