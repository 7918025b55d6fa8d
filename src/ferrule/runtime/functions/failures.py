"""Failures of functions: `ToolFailed`, raised by authors, and one table from exceptions to error classes.

The text of a foreign exception goes nowhere but into the log.
"""

from __future__ import annotations

import logging
import traceback
from typing import NoReturn

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.tasks import is_from_outside
from ferrule.model.failure import ERROR_CLASSES, ErrorClass


class ToolFailed(Exception):
    """Raise it in a tool's function: the message goes to the model, so it holds no secret.

    Of other exceptions the model learns the type alone.
    """

    def __init__(
        self,
        message: str,
        *,
        error_class: ErrorClass = "execution_failed",
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        if error_class not in ERROR_CLASSES:
            raise ValueError(f"{error_class!r} is not an error class; choose one of {', '.join(ERROR_CLASSES)}")
        super().__init__(message)
        self.message = message
        self.error_class: ErrorClass = error_class
        self.code = code
        """A finer, stable name."""
        self.retry_after = retry_after
        """Seconds to wait before another attempt."""


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
    """Raises a tool's failure in the standard's words; authors choose theirs with `ToolFailed`. Cancellation and
    exits pass through.

    Call it inside the `except` block.
    """
    if isinstance(error, ExecutionFailed) or is_from_outside(error):
        raise error
    if isinstance(error, ToolFailed):
        raise ExecutionFailed(
            error.error_class, error.message, code=error.code, retry_after=error.retry_after
        ) from error
    kind = type(error).__qualname__
    error_class = next(found for raised, found in RAISED if isinstance(error, raised))
    _log.error("tool %r failed: %s\n%s", tool, describe_error(error), format_stack(error))
    _log.debug("tool %r failed", tool, exc_info=error)
    telling = _TELLING.get(error_class, "the details are in the log")
    message = f"tool {tool!r} failed ({kind}): {telling}"
    raise ExecutionFailed(error_class, message, native_error_ref=f"python:{kind}") from error


def describe_error(error: BaseException) -> str:
    """Returns type and text of an exception, for the log. A text over the limit is left out whole: redaction would
    not find half a secret."""
    text = "".join(traceback.format_exception_only(error)).rstrip()
    return text if len(text) <= _LONGEST else f"{type(error).__qualname__} ({len(text):,} characters, left out)"


def format_stack(error: BaseException) -> str:
    """Returns the stack at which an exception was raised, for the log."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()
