"""The tools that come along with Ferrule, as functions."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any, Generic, TypeVar

from ferrule.contracts.executor import Context, Output
from ferrule.contracts.registry import late
from ferrule.model.tool import Tool, raw

from .shapes import Codec

T = TypeVar("T")
_executor = late("ferrule.runtime.builtins.executor:BuiltinExecutor")


class Builtin(Generic[T]):
    """One of them, with its settings."""

    def __init__(
        self,
        codec: Codec[T],
        *,
        tool_id: str,
        name: str,
        description: str,
        tags: tuple[str, ...],
        config: str,
    ) -> None:
        self._codec = codec
        self.tool = Tool(
            tool_id=tool_id,
            namespace=tool_id.rpartition(".")[0] or "builtin",
            name=name,
            description=description,
            lifecycle="available",
            tool_kind="function",
            dialect="adl",
            tags=tags,
            input_schema=raw(json.loads(codec.schema)),
            payload=raw({"config": json.loads(config)}),
        )

    async def __call__(
        self, context: Context, value: T, *, root: Path | None = None
    ) -> Any:
        """Run it in a folder: the one that the program runs in, if none is named."""
        executor = _executor(root or Path.cwd(), os.environ)
        try:
            run = executor.prepare(self.tool)
            result = run(self._codec.json(value), context)
            if inspect.isawaitable(result):
                result = await result
            return result.value if isinstance(result, Output) else result
        finally:
            await executor.aclose()
