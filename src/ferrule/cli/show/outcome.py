"""The outcome of a call, as commands print it, and its exit code.

`call`, `batch` and `follow` print the answer alone on standard output, everything else on standard error; commands that
answer a waiting call print it in lines.
"""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from ferrule.cli.show.output import json_text
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.failure import MEANINGS, excerpt
from ferrule.model.result import Pending, Result
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

SUCCEEDED, ENDED_WITH_ERROR, WAITS = 0, 1, 3
"""Exit codes: done; the call ended with an error; it waits, for a person or for a process that can run it."""


def outcome_lines(result: Result | Pending | None) -> list[str]:
    """Yields the outcome of a resumed call, in lines."""
    if result is None or (isinstance(result, Pending) and result.state == "approved"):
        return ["it cannot run in this process; it runs as soon as one that can looks"]
    if isinstance(result, Pending):
        return [f"it waits again: {sanitize(result.message)}"]
    if result.error is not None:
        return [f"the call ended as {result.status}: {sanitize(result.error.message)}"]
    text = result.text
    return [f"the call {result.status}"] + [f"  {sanitize(line)}" for line in text.split("\n") if text]


def exit_code_of(result: Result | Pending | None) -> int:
    """Returns the exit code of an outcome."""
    if isinstance(result, Result):
        return ENDED_WITH_ERROR if result.is_error else SUCCEEDED
    return WAITS


def make_record(result: Result | Pending | None) -> Any:
    """Returns the outcome as JSON."""
    return result.to_record() if isinstance(result, Result) else msgspec.to_builtins(result)


_LONGEST_WORDS = 2_000
_TOLD_IN_ONE_LINE = "driver_missing"
"""The message says who needs which extra and how to install it; there is nothing to add."""
_WHERE_TO_LOOK = {
    "awaiting_approval": "what it would do: ferrule pending; ",
    "needs_input": "who is waited for: ferrule pending; ",
}


def print_outcome(outcome: Result | Pending, as_json: bool) -> int:
    """Prints the outcome, and returns its exit code."""
    if isinstance(outcome, Pending):
        return _print_pending(outcome, as_json)
    if as_json:
        click.echo(json_text(outcome.to_record()))
    elif outcome.error is None:
        _print_answer(outcome)
    else:
        error = outcome.error
        if outcome.status == "partial_succeeded" and format_answer(outcome):
            _print_answer(outcome)
        click.echo(f"{outcome.status}: " + "\n  ".join(map(sanitize, error.message.splitlines())), err=True)
        if error.error_code == _TOLD_IN_ONE_LINE:
            return ENDED_WITH_ERROR
        for line in _find_tool_message(outcome, error.message):
            click.echo(f"  {line}", err=True)
        finer = f" ({error.error_code})" if error.error_code != error.error_class else ""
        click.echo(f"  {error.error_class}{finer}: {_advise(outcome)}", err=True)
        click.echo(f"  the whole story: ferrule explain {outcome.invocation_id}", err=True)
    return ENDED_WITH_ERROR if outcome.is_error else SUCCEEDED


def _find_tool_message(outcome: Result, message: str) -> list[str]:
    """Returns the tool's own error message; empty where the outcome contains it already."""
    own = "" if outcome.status == "partial_succeeded" else outcome.text.strip()
    return [] if own in message else list(map(sanitize, excerpt(own, _LONGEST_WORDS).splitlines()))


def _print_answer(outcome: Result) -> None:
    """Prints the answer: unchanged for programs; on a terminal without control sequences."""
    text = format_answer(outcome)
    if sys.stdout.isatty():
        text = "\n".join("\t".join(map(sanitize, line.split("\t"))) for line in text.split("\n"))
    click.echo(text, color=True)  # nothing is taken out on the way


def _print_pending(pending: Pending, as_json: bool) -> int:
    if as_json:
        click.echo(json_text(make_pending_record(pending)))
    else:
        click.echo(f"waiting: {sanitize(pending.message)}", err=True)
        look = _WHERE_TO_LOOK.get(pending.state, "")
        click.echo(f"  {look}what became of it: ferrule explain {pending.invocation_id}", err=True)
    return WAITS


def make_pending_record(pending: Pending) -> JsonObject:
    """Returns a waiting call as JSON."""
    record = {**msgspec.to_builtins(pending), "is_pending": True}
    if pending.expires_at is not None:
        record["expires_at"] = iso(pending.expires_at)
    return record


def format_answer(result: Result) -> str:
    """Formats a tool's answer for people."""
    if result.structured_content is not None:
        return json_text(result.structured_content)
    return result.text


def _advise(result: Result) -> str:
    error = result.error
    assert error is not None
    if error.error_code == "authorization_required":
        return " and ".join(f"'ferrule connect {name}'" for name in _list_providers(result)) + " does it from here"
    if error.error_code in _BY_CODE:
        return _BY_CODE[error.error_code]
    is_unsafe = error.recoverability == "not_recoverable" and not error.retry.retry_safe
    if is_unsafe and MEANINGS[error.error_class].recoverability in ("retry", "retry_later"):
        return "it may have acted; make sure before it is tried again"
    if error.error_class in ("credential_missing", "setup_required"):
        return "the tool has to be set up first; 'ferrule doctor' tells more"
    return _BY_RECOVERY.get(error.recoverability, error.recoverability)


def _list_providers(result: Result) -> list[str]:
    """Returns the providers that the user has to authorize."""
    told = result.structured_content
    challenges = told.get("authorization", ()) if isinstance(told, dict) else ()
    return [sanitize(str(each["id"])) for each in challenges] or ["PROVIDER"]


_BY_CODE = {
    "address_forbidden": "other arguments do not help, unless they name the address",
    "upstream_changed": "other arguments do not help; somebody has to look at the change",
    "upstream_denied": "whoever runs the system behind the tool has to allow it",
}
_BY_RECOVERY = {
    "retry": "it can be tried again",
    "retry_later": "it can be tried again later",
    "change_arguments": "change the arguments and try again",
    "change_arguments_or_policy": "change the arguments, or ask for another policy",
    "discover_first": "find the tool first",
    "request_approval": "it has to be asked for again",
    "complete_setup": "the tool has to be set up first",
    "not_recoverable": "trying again does not help",
}
