"""`edit`: replaces one piece of text in a file, or leaves the file as it was.

`confine.py` finds the file, `replace.py` writes it."""

from __future__ import annotations

import os

from ferrule.contracts.executor import Context, ExecutionFailed, Support
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.config import BuiltinServices, EditConfig
from ferrule.runtime.builtins.confine import Roots, Spot, open_regular
from ferrule.runtime.builtins.failures import bad_arguments, quote_text
from ferrule.runtime.builtins.replace import open_replacement
from ferrule.runtime.builtins.write import encode_text

_LARGEST = 64 * 1024**2


class EditTool:
    """One agent's `edit`."""

    support = Support()

    def __init__(self, config: EditConfig, services: BuiltinServices) -> None:
        self._roots = Roots(config.allowed_roots, services.root, services.protected, services.fixed())
        self._threads = services.threads

    def preflight(self, arguments: JsonObject) -> None:
        """Raises ExecutionFailed for invalid arguments, before anything is touched."""
        self._roots.check(arguments["file_path"])
        _replacement_of(arguments)

    async def __call__(self, arguments: JsonObject, context: Context) -> object:
        """Edits the file; returns `file_path replacements` (ADL-27). Raises ExecutionFailed."""
        return await self._threads.run(lambda: self._edit(arguments, context))

    def _edit(self, arguments: JsonObject, context: Context) -> JsonObject:
        path = arguments["file_path"]
        old, new = _replacement_of(arguments)
        with self._roots.find(path) as spot:
            before = _text_of(spot)
            at = _only_place(before, old, path)
            with open_replacement(spot) as file:
                file.write(before[:at] + new + before[at + len(old) :])

                def is_still_right() -> None:
                    context.raise_if_aborted()
                    _refuse_changed(spot, before)

                # The bytes are compared again right before the rename, so nobody's change is lost in silence.
                file.commit(is_still_right)
        return {"file_path": path, "replacements": 1}


def _replacement_of(arguments: JsonObject) -> tuple[bytes, bytes]:
    old, new = encode_text(arguments["old_string"], "old_string"), encode_text(arguments["new_string"], "new_string")
    if not old:
        raise bad_arguments("old_string is empty; name the text to replace", "empty_old_string")
    return old, new


def _text_of(spot: Spot) -> bytes:
    data = _bytes_of(spot)
    try:
        data.decode()
    except UnicodeDecodeError:
        raise bad_arguments(
            f"{quote_text(spot.path)} is no text in UTF-8, and only such text is edited", "binary_file"
        ) from None
    return data


def _bytes_of(spot: Spot) -> bytes:
    with open_regular(spot) as file:
        if os.fstat(file).st_size > _LARGEST:
            raise bad_arguments(f"{quote_text(spot.path)} is larger than what is edited (64 MiB)", "file_too_large")
        with os.fdopen(file, "rb", closefd=False) as reader:
            return reader.read(_LARGEST + 1)


def _only_place(data: bytes, old: bytes, path: str) -> int:
    """Returns the offset of the text's only occurrence; overlapping ones count as two. Raises ExecutionFailed."""
    at = data.find(old)
    if at < 0:
        hint = "; its lines end with \\r\\n" if b"\r\n" in data and b"\n" in old and b"\r\n" not in old else ""
        raise bad_arguments(
            f"old_string does not occur in {quote_text(path)}{hint}; the file was not changed", "text_not_found"
        )
    if data.find(old, at + 1) >= 0:
        raise bad_arguments(
            f"old_string occurs more than once in {quote_text(path)}; give more of the text around it. The file was not changed",
            "text_not_unique",
        )
    return at


def _refuse_changed(spot: Spot, before: bytes) -> None:
    if _bytes_of(spot) != before:
        raise ExecutionFailed(
            "execution_failed",
            f"{quote_text(spot.path)} was changed by somebody else meanwhile; read it again. Nothing was written",
            code="file_changed",
            is_retryable=True,
        )
