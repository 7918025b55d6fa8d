"""`write`: text into a file, whole or not at all, with the folders on the way to it."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.executor import Context, Support
from ferrule.runtime.builtins.config import Place, WriteConfig
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import misguided
from ferrule.runtime.builtins.replace import replacing


class WriteTool:
    """One agent's `write`."""

    support = Support()

    def __init__(self, config: WriteConfig, place: Place) -> None:
        self._roots = Roots(config.allowed_roots, place.root, place.protected, place.fixed())
        self._threads = place.threads

    def preflight(self, arguments: dict[str, Any]) -> None:
        """Raises ExecutionFailed for a path or a text that cannot be meant, before anything is touched."""
        self._roots.check(arguments["file_path"])
        encoded(arguments["content"], "content")

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """`file_path bytes_written` (ADL-26)."""
        return await self._threads.run(lambda: self._write(arguments, context))

    def _write(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        path, data = arguments["file_path"], encoded(arguments["content"], "content")
        with self._roots.find(path, makes_folders=True) as spot, replacing(spot) as file:
            file.write(data)
            file.commit(context.raise_if_aborted)
        return {"file_path": path, "bytes_written": len(data)}


def encoded(text: str, name: str) -> bytes:
    """A text as a file holds it. Raises ExecutionFailed when it cannot be written down."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise misguided(f"{name!r} has half a character in it, which no file can hold", "bad_text") from None
