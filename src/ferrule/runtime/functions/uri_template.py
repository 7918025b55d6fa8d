"""URI templates: the part of RFC 6570 that can also be read backwards.

`{name}` stands for one segment, `{+path}` for several, `{?a,b}` at the end for a query. A value read from an address
never escapes its place: `..`, encoded or not, matches nothing (MCP-201).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f<>\"\\^`{|}]+")
_LONGEST = 4096
_EXPRESSION = re.compile(r"\{([+?]?)([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSOUND = re.compile(r"[\x00-\x1f\x7f]")


class InvalidTemplate(ValueError):
    """A template that cannot be used here, with the reason."""


class UriTemplate(NamedTuple):
    """A template, ready to match addresses."""

    text: str
    names: tuple[str, ...]
    """Its variables, in order."""
    optional: tuple[str, ...]
    """Those of the query, which an address may leave out."""
    pattern: re.Pattern[str]
    wide: frozenset[str]
    """Those that may have several segments."""

    def match(self, uri: str) -> dict[str, str] | None:
        """Reads the variables of an address; None when the address does not match."""
        if not is_address(uri):
            return None
        path, mark, query = uri.partition("?") if self.optional else (uri, "", "")
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: unquote(found[name]) for name in self.names if name not in self.optional}
        if mark:
            asked = parse_qsl(query, keep_blank_values=True)
            # A repeated or unknown query parameter is refused: functions would silently see only one of them.
            if len(dict(asked)) != len(asked) or not dict(asked).keys() <= set(self.optional):
                return None
            values.update(asked)
        return values if all(self._is_sound(name, value) for name, value in values.items()) else None

    def _is_sound(self, name: str, value: str) -> bool:
        if _UNSOUND.search(value) or "\ufffd" in value:
            return False
        if name in self.optional:
            return True
        # A second decoding catches `%252e%252e`, which a careless function would decode to `..`.
        for read in (value, unquote(value)):
            steps = re.split(r"[/\\]", read)
            if ".." in steps or (len(steps) > 1 and name not in self.wide):
                return False
        return True


def is_address(uri: str) -> bool:
    """Returns True for an address of a resource: a scheme and a rest, not too long, without white space."""
    return len(uri) <= _LONGEST and _ADDRESS.fullmatch(uri) is not None


@lru_cache(maxsize=4096)
def parse_uri_template(text: str) -> UriTemplate:
    """Parses a template. Raises InvalidTemplate."""
    names: list[str] = []
    optional: list[str] = []
    wide: set[str] = set()
    pattern, at = "", 0
    for found in _EXPRESSION.finditer(text):
        pattern += re.escape(_check_literal(text[at : found.start()]))
        at = found.end()
        kind, inner = found[1], found[2].split(",")
        for name in inner:
            if _NAME.fullmatch(name) is None or name in names:
                raise InvalidTemplate(f"{found[0]!r} cannot be used; write one plain name, each once")
            names.append(name)
        if kind == "?":
            optional += inner
            if at != len(text):
                raise InvalidTemplate(f"{found[0]!r} has to stand at the end")
        elif len(inner) > 1:
            raise InvalidTemplate(f"{found[0]!r} has several names; write one in each pair of braces")
        else:
            wide |= {inner[0]} if kind == "+" else set()
            pattern += f"(?P<{inner[0]}>{'[^?#]+' if kind == '+' else '[^/?#]+'})"
    pattern += re.escape(_check_literal(text[at:]))
    if not is_address(_EXPRESSION.sub("x", text)):
        raise InvalidTemplate("it is no address; write a scheme, such as docs://")
    return UriTemplate(text, tuple(names), tuple(optional), re.compile(pattern), frozenset(wide))


def _check_literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise InvalidTemplate("its braces do not match")
    return text
