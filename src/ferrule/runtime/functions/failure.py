"""How the author of a function says what went wrong, in words that reach the model."""

from __future__ import annotations

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
            raise ValueError(f"{error_class!r} is no error class; choose one of {', '.join(ERROR_CLASSES)}")
        super().__init__(message)
        self.message = message
        self.error_class: ErrorClass = error_class
        self.code = code
        """A finer, stable name."""
        self.retry_after = retry_after
        """Seconds to wait before another attempt."""
