"""`write`: writes text into a file, completely or not at all, and creates missing folders.

`confine.py` finds the file, `replace.py` writes it."""

from __future__ import annotations

from ferrule.contracts.executor import Context, Support
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.config import BuiltinServices, WriteConfig
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import bad_arguments
from ferrule.runtime.builtins.replace import open_replacement


class WriteTool:
    """One agent's `write`."""

    support = Support()

    def __init__(self, config: WriteConfig, services: BuiltinServices) -> None:
        self._roots = Roots(config.allowed_roots, services.root, services.protected, services.fixed())
        self._threads = services.threads

    def preflight(self, arguments: JsonObject) -> None:
        """Raises ExecutionFailed for an invalid path or text, before anything is touched."""
        self._roots.check(arguments["file_path"])
        encode_text(arguments["content"], "content")

    async def __call__(self, arguments: JsonObject, context: Context) -> object:
        """Writes the file; returns `file_path bytes_written` (ADL-26). Raises ExecutionFailed."""
        return await self._threads.run(lambda: self._write(arguments, context))

    def _write(self, arguments: JsonObject, context: Context) -> JsonObject:
        path, data = arguments["file_path"], encode_text(arguments["content"], "content")
        with self._roots.find(path, makes_folders=True) as spot, open_replacement(spot) as file:
            file.write(data)
            file.commit(context.raise_if_aborted)
        return {"file_path": path, "bytes_written": len(data)}


def encode_text(text: str, name: str) -> bytes:
    """Encodes text for a file. Raises ExecutionFailed for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise bad_arguments(f"{name!r} has half a character in it, which no file can hold", "bad_text") from None
