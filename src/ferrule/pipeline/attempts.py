"""Attempts of one call: what failed and may be tried again is, after a while, as often as its policy and budget allow."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from ferrule.contracts.executor import Context, Run
from ferrule.pipeline.call import Call
from ferrule.pipeline.services import Services


async def attempted(call: Call, services: Services, run: Run, context: Context) -> Any:
    """What the tool gave in the end. Raises ExecutionFailed."""
    output = run(call.arguments, context)
    return await output if isawaitable(output) else output
