"""The vocabulary of tables of structural rules: each function makes an expectation, which maps a value to what is
wrong.

Every expectation carries a `describe` text, from which the rule pages are generated. Rows are in `contracts/rule`; the
engine that reads them is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from ferrule.contracts.rule import Expectation
from ferrule.model.value import JsonValue, is_integer, type_name


def _make_expectation(
    describe: str, check: Callable[[JsonValue], str | None], accepts: type | None = None
) -> Expectation:
    """Attaches the description to a check. Values of the class it `accepts` need not be passed to it."""
    check.describe = describe  # type: ignore[attr-defined]  # functions take attributes
    check.accepts = accepts  # type: ignore[attr-defined]
    return check


def describe(expectation: object) -> str:
    """Returns an expectation in words, for rule pages."""
    return str(getattr(expectation, "describe", "as the rule says"))


def string() -> Expectation:
    """Expects text."""
    return _make_expectation(
        "a string", lambda v: None if isinstance(v, str) else f"must be a string, not {_a(v)}", str
    )


def filled_string() -> Expectation:
    """Expects text that is not blank."""

    def check(value: JsonValue) -> str | None:
        if not isinstance(value, str):
            return f"must be a string, not {_a(value)}"
        return None if value.strip() else "must not be empty"

    # Without `accepts`: a text may still be blank, so each has to be checked.
    return _make_expectation("a non-empty string", check)


def boolean() -> Expectation:
    """Expects `true` or `false`."""
    return _make_expectation(
        "true or false", lambda v: None if isinstance(v, bool) else f"must be true or false, not {_a(v)}", bool
    )


def mapping() -> Expectation:
    """Expects a mapping."""
    return _make_expectation(
        "a mapping", lambda v: None if isinstance(v, dict) else f"must be a mapping, not {_a(v)}", dict
    )


def sequence() -> Expectation:
    """Expects a list."""
    return _make_expectation("a list", lambda v: None if isinstance(v, list) else f"must be a list, not {_a(v)}", list)


def integer(minimum: int | None = None, maximum: int | None = None) -> Expectation:
    """Expects a whole number, perhaps within bounds."""
    if minimum is not None and maximum is not None:
        bounds = f" from {minimum} to {maximum}"
    elif minimum is not None:
        bounds = f" of at least {minimum}"
    else:
        bounds = "" if maximum is None else f" of at most {maximum}"

    def check(value: JsonValue) -> str | None:
        if not is_integer(value):
            return f"must be an integer{bounds}, not {_a(value)}"
        if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
            return f"must be an integer{bounds}, not {_show(value)}"
        return None

    return _make_expectation(f"an integer{bounds}", check)


def one_of(*words: str) -> Expectation:
    """Expects one of a closed set of words."""
    known = frozenset(words)
    listed = ", ".join(words)

    def check(value: JsonValue) -> str | None:
        if isinstance(value, str) and value in known:
            return None
        return f"must be one of {listed}, not {_show(value)}"

    check.words = words  # type: ignore[attr-defined]  # functions take attributes
    return _make_expectation(f"one of {listed}", check)


def matching(pattern: str, meaning: str) -> Expectation:
    """Expects text that matches a pattern as a whole; `meaning` completes "must be …"."""
    compiled = re.compile(pattern)

    def check(value: JsonValue) -> str | None:
        if not isinstance(value, str):
            return f"must be {meaning}, not {_a(value)}"
        return None if compiled.fullmatch(value) else f"must be {meaning}, not {_show(value)}"

    return _make_expectation(meaning, check)


def iso_date() -> Expectation:
    """Expects a real calendar date, `YYYY-MM-DD`."""
    shape = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

    def check(value: JsonValue) -> str | None:
        if isinstance(value, str) and shape.fullmatch(value):
            try:
                date.fromisoformat(value)
            # The pattern admits 2026-02-30; only the calendar knows.
            except ValueError:
                return f"must be a real calendar date, which {value} is not"
            return None
        return f"must be a date such as 2026-04-30, not {_show(value)}"

    return _make_expectation("a calendar date, YYYY-MM-DD", check)


def _a(value: JsonValue) -> str:
    word = type_name(value)
    if word == "null":
        return word
    return f"{'an' if word[0] in 'aio' else 'a'} {word}"


def _show(value: JsonValue) -> str:
    """Shortens a value for a message."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "…")
    if value is None or isinstance(value, bool | dict | list):
        return (
            {None: "null", True: "true", False: "false"}.get(value, _a(value))
            if not isinstance(value, dict | list)
            else _a(value)
        )
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "…"


show = _show
"""A value short enough for a message; rules use it too."""
a_type = _a
"""A value's type with its article: `a list`, `an integer`, `null`; rules use it too."""
