"""Redacts the secrets of a call in what goes to the ledger, hooks, people and callers, and in log lines.

In a log line it redacts the message, its arguments and the text of an exception, and escapes the rest: no foreign
control character reaches a terminal, and no foreign text starts a line of its own. The engine is
`runtime/redaction`; results are redacted in `results/redaction`, rows in `rows`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from ferrule.contracts.redactor import Redactor
from ferrule.runtime.pipeline.call import RUNNING, Call
from ferrule.runtime.pipeline.inputs import list_sensitive_values
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN

T = TypeVar("T")


def list_secrets(call: Call) -> frozenset[str]:
    """Returns the values that are secret for this call only: its sensitive inputs, and those its tool hides."""
    return call.secrets if call.prepared.mask is None else call.secrets | list_sensitive_values(call)


def redact_secrets(call: Call, services: Services, value: T) -> T:
    """Redacts a JSON value or a text; returns the very value given when there is nothing to redact."""
    secrets, redactor = list_secrets(call), services.redactor or ONLY_GIVEN
    if not secrets and redactor.is_idle:
        return value
    clean: T = redactor.value(value, secrets)[0]
    return clean


_NEXT = "\n    "


def escape_line(text: str) -> str:
    """Escapes everything invisible in a text, line ends too."""
    return text if text.isprintable() else "".join(map(_escape_character, text))


def indent_lines(text: str) -> str:
    """Indents the further lines of a text, and escapes everything else that is invisible."""
    return _NEXT.join("\t".join(map(escape_line, line.split("\t"))) for line in text.split("\n"))


def _escape_character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_UNREADABLE = "[REDACTED] (this line could not be looked through)"


class RedactingFilter(logging.Filter):
    """A logging filter that redacts; on a logger it sees only that very logger's records, not those of loggers below it.

    For a record of a running tool, the values that are secret for its call alone are redacted too.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns True always: records are changed, never dropped."""
        try:
            call = RUNNING.get()
            also = frozenset() if call is None else list_secrets(call)
            if also or not self._redactor.is_idle:
                self._clean(record, also)
        except Exception:  # a line that cannot be formatted may hold anything
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
    """Redacts everything that Ferrule's loggers, those of its tools, and asyncio log, until the returned function is called.

    It replaces the record factory, since a filter on the logger `ferrule` would not see the loggers below it.
    """
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


def _make_record(*given: object, **named: object) -> logging.LogRecord:
    record = _factory_before[0](*given, **named)
    if record.name.partition(".")[0] in _GUARDED:
        for keeper in tuple(_filters):
            keeper.filter(record)
        _escape_record(record)
        logger = logging.getLogger(record.name)
        if _filter_extras not in logger.filters:
            logger.addFilter(_filter_extras)  # `extra` is set after the record is made and before it is filtered
    return record


def _escape_record(record: logging.LogRecord) -> None:
    """Escapes a record after redaction: escaping first would hide secrets that span several lines."""
    with suppress(Exception):  # a line that cannot be formatted
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
