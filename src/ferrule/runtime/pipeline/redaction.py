"""Takes the secrets of a call out of what is told to the ledger, hooks, people and callers, and out of log lines.

In a log line it cleans the message, its arguments and the text of an exception, and makes the rest safe to read: no
control character of others reaches a terminal, and no text of others begins a line of its own. The engine is
`runtime/redaction`; results are redacted in `results/redaction`, rows in `rows`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ferrule.contracts.redactor import Redactor
from ferrule.runtime.pipeline.call import RUNNING, Call
from ferrule.runtime.pipeline.inputs import list_sensitive_values
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN


def list_secrets(call: Call) -> frozenset[str]:
    """The values that are secret for this call only: its sensitive inputs, and what its tool asked to hide."""
    return call.secrets if call.prepared.mask is None else call.secrets | list_sensitive_values(call)


def redact_secrets(call: Call, services: Services, value: Any) -> Any:
    """A JSON value, or a text, without what is secret; the very value given when there is nothing in it."""
    secrets, redactor = list_secrets(call), services.redactor or ONLY_GIVEN
    if not secrets and redactor.is_idle:
        return value
    return redactor.value(value, secrets)[0]


_NEXT = "\n    "


def escape_line(text: str) -> str:
    """A text with everything escaped that cannot be seen, ends of lines too."""
    return text if text.isprintable() else "".join(map(_escape_character, text))


def indent_lines(text: str) -> str:
    """A text with its further lines set in, and everything else escaped that cannot be seen."""
    return _NEXT.join("\t".join(map(escape_line, line.split("\t"))) for line in text.split("\n"))


def _escape_character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_UNREADABLE = "[REDACTED] (this line could not be looked through)"


class RedactingFilter(logging.Filter):
    """Put it on a handler, or on a logger: there it sees what is logged to that very logger, not to the ones below it.

    Of a call whose tool runs where the line is written, the values that are secret for this call alone are taken out too.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Always True: lines are changed, never dropped."""
        try:
            call = RUNNING.get()
            also = frozenset() if call is None else list_secrets(call)
            if also or not self._redactor.is_idle:
                self._clean(record, also)
        except Exception:  # a line that cannot be written as it is may hold anything
            record.msg, record.args = _UNREADABLE, None
            record.exc_info = record.exc_text = record.stack_info = None
        return True

    def _clean(self, record: logging.LogRecord, also: frozenset[str]) -> None:
        said = record.getMessage()
        message, found = self._redactor.text(said, also)
        if found:
            record.msg, record.args = message, None
        if record.exc_info:
            # Formatters write `exc_text` when it is there, so that the exception itself is not written again.
            record.exc_text, found = self._redactor.text(record.exc_text or _format_exception(record), also)
            if found:
                record.exc_info = None
        elif record.exc_text:
            record.exc_text, _ = self._redactor.text(record.exc_text, also)
        if record.stack_info:
            record.stack_info, _ = self._redactor.text(record.stack_info, also)
        for name in record.__dict__.keys() - _OWN_ATTRIBUTES:
            record.__dict__[name], _ = self._redactor.value(record.__dict__[name], also)


def guard_logs(redactor: Redactor) -> Callable[[], None]:
    """Take secrets out of everything that Ferrule's loggers and those of its tools say, and what the event loop says of their
    exceptions, from now until the given function is called. A filter on the logger `ferrule` would not see what the loggers
    below it say."""
    keeper = RedactingFilter(redactor)
    with _factory_lock:
        _filters.append(keeper)
        if logging.getLogRecordFactory() is not _make_record:
            _factory_before[:] = [logging.getLogRecordFactory()]
            logging.setLogRecordFactory(_make_record)

    def release() -> None:
        with _factory_lock:
            if keeper in _filters:
                _filters.remove(keeper)
            if not _filters and logging.getLogRecordFactory() is _make_record:
                logging.setLogRecordFactory(_factory_before[0])

    return release


_factory_lock = threading.Lock()
_filters: list[RedactingFilter] = []
_factory_before: list[Callable[..., logging.LogRecord]] = [logging.LogRecord]


def _make_record(*given: Any, **named: Any) -> logging.LogRecord:
    record = _factory_before[0](*given, **named)
    if record.name.partition(".")[0] in _GUARDED:
        for keeper in tuple(_filters):
            keeper.filter(record)
        _escape_record(record)
        logger = logging.getLogger(record.name)
        if _filter_extras not in logger.filters:
            logger.addFilter(_filter_extras)  # `extra` is put on a record after it was made, and before it is filtered
    return record


def _escape_record(record: logging.LogRecord) -> None:
    """After secrets were taken out: those of several lines would not be found in what this makes."""
    with suppress(Exception):  # a line that cannot be written as it is
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = indent_lines(message), None
    told = record.exc_text or _format_exception(record)
    if told:
        record.exc_text = indent_lines(f"\n{told}").removeprefix("\n")


def _format_exception(record: logging.LogRecord) -> str:
    if not record.exc_info or not record.exc_info[0]:
        return ""
    return "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")


def _filter_extras(record: logging.LogRecord) -> bool:
    if record.__dict__.keys() - _OWN_ATTRIBUTES:
        for keeper in tuple(_filters):
            keeper.filter(record)
    return True


_GUARDED = frozenset({"ferrule", "asyncio"})
