"""Regular expressions that take linear time: they are compiled by the engine that also checks schemas, which never backtracks."""

from __future__ import annotations

from collections.abc import Callable

from ferrule.contracts.registry import late

_validator = late("jsonschema_rs:Draft202012Validator")
_options = late("jsonschema_rs:RegexOptions")
LONGEST = 1000


def compiled(pattern: str) -> Callable[[str], bool]:
    """A test for whole texts; `.` is any character. Raises ValueError for a pattern that is none, or not a linear one."""
    if len(pattern) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    try:
        _validator({"pattern": pattern}, pattern_options=_options())  # so that it cannot close our own brackets
        validator = _validator({"type": "string", "pattern": f"^(?s:{pattern})$"}, pattern_options=_options())
    except ValueError:
        raise ValueError("it is none that can be matched in linear time (no look-around, no back-references)") from None
    test: Callable[[str], bool] = validator.is_valid
    return test
