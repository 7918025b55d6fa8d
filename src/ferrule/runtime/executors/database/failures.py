"""Failures of databases as error classes: one table of SQLSTATEs, in which the longest matching prefix counts.

Messages name the tool, the problem and the remedy; the database's own text goes, shortened, into the output, never into
the message. Engines report failures with these records; the executor turns them into `ExecutionFailed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject

_MOST = 300


class FailureKind(NamedTuple):
    """One kind of failure: its error class, code and message."""

    error_class: ErrorClass
    code: str
    summary: str
    is_retryable: bool | None = None


AMBIGUOUS = FailureKind("execution_failed", "bad_statement", "the database does not understand the statement")
STATES: dict[str, FailureKind] = {
    "08": FailureKind("dependency_unavailable", "connection_lost", "the connection to the database broke"),
    "0A": FailureKind("execution_failed", "not_supported", "the database cannot do that"),
    "21": FailureKind("execution_failed", "cardinality", "a part of the statement gave more rows than it may"),
    "22": FailureKind("invalid_arguments", "bad_value", "a value does not fit what the database expects"),
    "23": FailureKind("invalid_arguments", "constraint_violated", "the values break a rule of the database"),
    "25006": FailureKind(
        "permission_denied", "read_only", "the statement changes something, and a retrieval only reads"
    ),
    "25": FailureKind("execution_failed", "bad_transaction", "the transaction is in no state for that"),
    "28": FailureKind(
        "credential_missing", "credential_refused", "the database does not accept the credentials; renew them"
    ),
    "3D": FailureKind("setup_required", "unknown_database", "the database named in the credentials does not exist"),
    "3F": FailureKind("setup_required", "unknown_schema", "the schema does not exist"),
    "40": FailureKind("execution_failed", "conflict", "another transaction came in between; try again", True),
    "42501": FailureKind("permission_denied", "upstream_denied", "the user of the database may not do that"),
    "42": AMBIGUOUS,
    "44": FailureKind("invalid_arguments", "constraint_violated", "the values break a rule of the database"),
    "53300": FailureKind(
        "rate_limited", "too_many_connections", "the database has too many connections; try again later"
    ),
    "53": FailureKind("dependency_unavailable", "no_resources", "the database is out of memory, room or connections"),
    "54": FailureKind(
        "invalid_arguments", "too_complex", "the statement or its values are larger than the database takes"
    ),
    "55P03": FailureKind("timeout", "locked", "something the statement needs is locked by somebody else", True),
    "55": FailureKind("execution_failed", "bad_state", "what the statement names is in no state for that"),
    "57014": FailureKind("timeout", "statement_timeout", "the statement took too long and was stopped at the database"),
    "57": FailureKind("dependency_unavailable", "shutting_down", "the database is shutting down or starting"),
    "58": FailureKind("dependency_unavailable", "database_failed", "the database failed"),
    "HY000": FailureKind("execution_failed", "database_failed", "the database refused the statement"),
    "P0": FailureKind("execution_failed", "raised", "a function of the database refused"),
    "XX": FailureKind("execution_failed", "database_failed", "the database failed"),
}
OTHER = FailureKind("execution_failed", "database_failed", "the database refused the statement")
LOST = STATES["08"]
UNPROVEN = FailureKind("dependency_unavailable", "tls_failed", "the server cannot prove who it is; see 'sslmode'")
UNREACHED = FailureKind("dependency_unavailable", "unreachable", "the database cannot be reached")
SLOW = FailureKind("dependency_unavailable", "connect_timeout", "the database did not answer in time")
_ABOUT_PLACES = (SLOW, UNPROVEN, STATES["3D"], STATES["42501"])


class FailureReport(NamedTuple):
    """A failure as the database or its driver reported it."""

    ref: str
    """`sqlstate:23505`, `mysql:1062`."""
    kind: FailureKind
    text: str = ""
    """The database's own text; it never goes into a message, for it may repeat values."""
    names: tuple[str, ...] = ()
    """Names in it that may go into a message: a constraint, a table. Never values."""


class DatabaseFailed(Exception):
    """A query failed; engines raise it, and the executor turns it into an `ExecutionFailed`."""

    def __init__(self, report: FailureReport, *, may_have_acted: bool = False) -> None:
        super().__init__(report.ref)
        self.report = report
        self.may_have_acted = may_have_acted
        """True when it is unknown whether the change was made."""


@contextmanager
def translate_failures(report_of: Callable[[BaseException], FailureReport | None]) -> Iterator[None]:
    """Turns what a driver raises into DatabaseFailed; `report_of` returns None for what is not a failure of the database."""
    try:
        yield
    except BaseException as error:
        report = report_of(error)
        if report is None:
            raise
        raise DatabaseFailed(report) from None


def kind_of_state(state: str) -> FailureKind:
    """Returns the kind of failure of a SQLSTATE."""
    for length in (5, 2):
        found = STATES.get(state[:length])
        if found is not None:
            return found
    return OTHER


def as_connect_failure(report: FailureReport, place: str) -> FailureReport:
    """Adapts a report to a failure while connecting: names the server, and a lost connection means it is unreachable."""
    if report.kind is LOST:
        return report._replace(kind=UNREACHED, names=(place,))
    return report._replace(names=(place,)) if report.kind in _ABOUT_PLACES else report


def failure_of_call(error: DatabaseFailed, tool_id: str, *, is_fixed: bool) -> ExecutionFailed:
    """Builds the failure of a call. `is_fixed`: the statement is the definition's, so its mistakes are not the caller's."""
    ref, kind, text, names = error.report
    error_class = kind.error_class
    if kind is AMBIGUOUS:
        error_class = "setup_required" if is_fixed else "invalid_arguments"
    naming = f" ({', '.join(names)})" if names else ""
    message = f"the database tool {tool_id!r} failed: {kind.summary}{naming}"
    retryable = kind.is_retryable
    if error.may_have_acted:
        message += "; whether it made its change is not known"
        retryable = False
    output: Output | None = None
    if text and error_class in ("execution_failed", "invalid_arguments", "setup_required"):
        output = Output(_excerpt(ref, text))
    return ExecutionFailed(
        error_class, message, code=kind.code, native_error_ref=ref, is_retryable=retryable, output=output
    )


def _excerpt(ref: str, text: str) -> JsonObject:
    first = text.splitlines()[0] if text.splitlines() else ""
    return {"database_error": ref, "message": first[:_MOST] + ("…" if len(first) > _MOST else "")}
