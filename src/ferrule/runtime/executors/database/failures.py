"""What went wrong at a database, as an error class: one table of SQLSTATEs, the longest that fits counts.

Messages name the tool, what is wrong and what to do; what the database itself says goes, cut short, into the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.model.failure import ErrorClass

_MOST = 300


class Meaning(NamedTuple):
    """What one kind of failure means."""

    error_class: ErrorClass
    code: str
    said: str
    is_retryable: bool | None = None


AMBIGUOUS = Meaning("execution_failed", "bad_statement", "the database does not understand the statement")
STATES: dict[str, Meaning] = {
    "08": Meaning("dependency_unavailable", "connection_lost", "the connection to the database broke"),
    "0A": Meaning("execution_failed", "not_supported", "the database cannot do that"),
    "21": Meaning("execution_failed", "cardinality", "a part of the statement gave more rows than it may"),
    "22": Meaning("invalid_arguments", "bad_value", "a value does not fit what the database expects"),
    "23": Meaning("invalid_arguments", "constraint_violated", "the values break a rule of the database"),
    "25006": Meaning("permission_denied", "read_only", "the statement changes something, and a retrieval only reads"),
    "25": Meaning("execution_failed", "bad_transaction", "the transaction is in no state for that"),
    "28": Meaning(
        "credential_missing", "credential_refused", "the database does not accept the credentials; renew them"
    ),
    "3D": Meaning("setup_required", "unknown_database", "the database named in the credentials does not exist"),
    "3F": Meaning("setup_required", "unknown_schema", "the schema does not exist"),
    "40": Meaning("execution_failed", "conflict", "another transaction came in between; try again", True),
    "42501": Meaning("permission_denied", "upstream_denied", "the user of the database may not do that"),
    "42": AMBIGUOUS,
    "44": Meaning("invalid_arguments", "constraint_violated", "the values break a rule of the database"),
    "53300": Meaning("rate_limited", "too_many_connections", "the database has too many connections; try again later"),
    "53": Meaning("dependency_unavailable", "no_resources", "the database is out of memory, room or connections"),
    "54": Meaning("invalid_arguments", "too_complex", "the statement or its values are larger than the database takes"),
    "55P03": Meaning("timeout", "locked", "something the statement needs is locked by somebody else", True),
    "55": Meaning("execution_failed", "bad_state", "what the statement names is in no state for that"),
    "57014": Meaning("timeout", "statement_timeout", "the statement took too long and was stopped at the database"),
    "57": Meaning("dependency_unavailable", "shutting_down", "the database is shutting down or starting"),
    "58": Meaning("dependency_unavailable", "database_failed", "the database failed"),
    "HY000": Meaning("execution_failed", "database_failed", "the database refused the statement"),
    "P0": Meaning("execution_failed", "raised", "a function of the database refused"),
    "XX": Meaning("execution_failed", "database_failed", "the database failed"),
}
OTHER = Meaning("execution_failed", "database_failed", "the database refused the statement")
LOST = STATES["08"]
UNPROVEN = Meaning("dependency_unavailable", "tls_failed", "the server cannot prove who it is; see 'sslmode'")
UNREACHED = Meaning("dependency_unavailable", "unreachable", "the database cannot be reached")
SLOW = Meaning("dependency_unavailable", "connect_timeout", "the database did not answer in time")
_ABOUT_PLACES = (SLOW, UNPROVEN, STATES["3D"], STATES["42501"])


class Told(NamedTuple):
    """What the database said about a failure."""

    ref: str
    """`sqlstate:23505`, `mysql:1062`."""
    meaning: Meaning
    text: str = ""
    """Its own words; they never go into a message."""
    names: tuple[str, ...] = ()
    """What it names: a constraint, a table. Names are no values."""


class DatabaseFailed(Exception):
    """What an engine raises; the executor makes an `ExecutionFailed` of it."""

    def __init__(self, told: Told, *, may_have_acted: bool = False) -> None:
        super().__init__(told.ref)
        self.told = told
        self.may_have_acted = may_have_acted
        """True when nobody knows whether the change was made."""


@contextmanager
def translated(told_of: Callable[[BaseException], Told | None]) -> Iterator[None]:
    """Raises DatabaseFailed for what a driver raises; `told_of` gives None for what is no failure of the database."""
    try:
        yield
    except BaseException as error:
        told = told_of(error)
        if told is None:
            raise
        raise DatabaseFailed(told) from None


def meaning_of(state: str) -> Meaning:
    """What a SQLSTATE means."""
    for length in (5, 2):
        found = STATES.get(state[:length])
        if found is not None:
            return found
    return OTHER


def at_the_door(told: Told, place: str) -> Told:
    """What a failure means while a connection is made: where that was tried is worth knowing, and nothing was asked yet."""
    if told.meaning is LOST:
        return told._replace(meaning=UNREACHED, names=(place,))
    return told._replace(names=(place,)) if told.meaning in _ABOUT_PLACES else told


def failed(error: DatabaseFailed, tool_id: str, *, is_fixed: bool) -> ExecutionFailed:
    """The failure of a call. `is_fixed`: the statement is the definition's, so its mistakes are not the caller's."""
    ref, meaning, text, names = error.told
    kind = meaning.error_class
    if meaning is AMBIGUOUS:
        kind = "setup_required" if is_fixed else "invalid_arguments"
    naming = f" ({', '.join(names)})" if names else ""
    message = f"the database tool {tool_id!r} failed: {meaning.said}{naming}"
    retryable = meaning.is_retryable
    if error.may_have_acted:
        message += "; whether it made its change is not known"
        retryable = False
    output: Output | None = None
    if text and kind in ("execution_failed", "invalid_arguments", "setup_required"):
        output = Output(_excerpt(ref, text))
    return ExecutionFailed(
        kind, message, code=meaning.code, native_error_ref=ref, is_retryable=retryable, output=output
    )


def _excerpt(ref: str, text: str) -> dict[str, Any]:
    first = text.splitlines()[0] if text.splitlines() else ""
    return {"database_error": ref, "message": first[:_MOST] + ("…" if len(first) > _MOST else "")}
