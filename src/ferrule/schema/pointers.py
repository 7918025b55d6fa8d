"""JSON Pointers (RFC 6901): reads them, writes them, and follows them into a value.

References, errors about arguments, mappings of bodies and rules of redaction use it. It does not know what a pointer
leads to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from ferrule.model.value import Path

_POSITION = re.compile("0|[1-9][0-9]{0,17}")
"""How a list position is written: `007` is a name. No list has more members than eighteen digits can count."""
_PLAIN = "!$&'()*+,;=:@~"
"""Characters that need no escape in a reference, besides letters and digits."""


def escape_step(step: str | int) -> str:
    """Writes one step of a pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


def escape_in_reference(step: str) -> str:
    """Writes one step of a pointer in a reference, which takes percent signs for the beginning of an escape."""
    return escape_step(step).replace("%", "%25")


def unescape_step(written: str) -> str:
    """Reads one step of a pointer."""
    return written.replace("~1", "/").replace("~0", "~")


def read_pointer(pointer: str) -> tuple[str, ...]:
    """Returns the steps of a pointer; it begins with a slash, or is empty for the whole."""
    steps = pointer.split("/")[1:]
    return tuple(map(unescape_step, steps)) if "~" in pointer else tuple(steps)


def write_pointer(path: Iterable[str | int]) -> str:
    """Writes a path as a pointer."""
    return "".join(f"/{escape_step(step)}" for step in path)


def read_fragment(fragment: str) -> tuple[str, ...]:
    """Returns the steps of a pointer as a reference holds it, after its `#`: percent signs begin escapes there."""
    return read_pointer(unquote(fragment))


def write_fragment(path: Iterable[str | int]) -> str:
    """Writes a path as a reference from the root of a document."""
    return "#" + "".join(f"/{quote(escape_step(step), safe=_PLAIN)}" for step in path)


def list_position(step: str) -> int | None:
    """Returns the position of a list that a step names, or None when it names none."""
    return int(step) if _POSITION.fullmatch(step) else None


def follow_steps(value: object, steps: Iterable[str]) -> tuple[object, Path]:
    """Returns the value where the steps lead no further, and the path to it, with list positions as numbers."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
            path.append(step)
        elif isinstance(value, list) and (at := list_position(step)) is not None and at < len(value):
            value = value[at]
            path.append(at)
        else:
            break
    return value, tuple(path)


def find_at(value: object, steps: tuple[str, ...]) -> tuple[object, Path] | None:
    """Returns the value at the end of the steps, with its path, or None when it does not exist."""
    found = follow_steps(value, steps)
    return found if len(found[1]) == len(steps) else None
