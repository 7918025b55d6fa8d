"""From what a function raised to an error class: one table. The text of a foreign exception goes nowhere but the log, where
secrets are taken out of every line."""

from __future__ import annotations

import logging
import traceback
from typing import NoReturn

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.failure import ErrorClass
from ferrule.runtime.functions.failure import ToolFailed

_log = logging.getLogger("ferrule.tools")
_LONGEST = 4_000
"""Lines of functions in processes of their own are cut; this and the name of a tool stand before that."""

RAISED: tuple[tuple[type[BaseException], ErrorClass], ...] = (
    (TimeoutError, "timeout"),
    (PermissionError, "sandbox_violation"),
    (FileNotFoundError, "execution_failed"),
    (FileExistsError, "execution_failed"),
    (IsADirectoryError, "execution_failed"),
    (NotADirectoryError, "execution_failed"),
    (OSError, "dependency_unavailable"),
    (NotImplementedError, "capability_gap"),
    (msgspec.ValidationError, "invalid_arguments"),
    (BaseException, "execution_failed"),
)
"""The first that fits counts, so the narrower stand first."""

_TELLING: dict[ErrorClass, str] = {
    "timeout": "something it waited for took too long",
    "sandbox_violation": "it was refused access to something",
    "dependency_unavailable": "something it needs cannot be reached",
    "capability_gap": "it cannot do this",
    "invalid_arguments": "an argument cannot be used as it is",
}


def fail(error: BaseException, tool: str) -> NoReturn:
    """Raise a tool's failure in the standard's words. Authors choose the words with `ToolFailed`."""
    if isinstance(error, ExecutionFailed):
        raise error
    if isinstance(error, ToolFailed):
        raise ExecutionFailed(
            error.error_class, error.message, code=error.code, retry_after=error.retry_after
        ) from error
    kind = type(error).__qualname__
    error_class = next(found for raised, found in RAISED if isinstance(error, raised))
    _log.error("tool %r failed: %s\n%s", tool, told(error), where(error))
    _log.debug("tool %r failed", tool, exc_info=error)
    telling = _TELLING.get(error_class, "the details are in the log")
    message = f"tool {tool!r} failed ({kind}): {telling}"
    raise ExecutionFailed(error_class, message, native_error_ref=f"python:{kind}") from error


def told(error: BaseException) -> str:
    """The type and the text of an exception, for the log. A text that is too long for it is left out whole: half a secret would
    not be found there."""
    text = "".join(traceback.format_exception_only(error)).rstrip()
    return text if len(text) <= _LONGEST else f"{type(error).__qualname__} ({len(text):,} characters, left out)"


def where(error: BaseException) -> str:
    """Where an exception was raised, for the log."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()
