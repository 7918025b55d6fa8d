"""Texts of a definition with places for arguments: `/orders/{id}`, `tenant-{name}`. Compiled once, filled per call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ferrule.runtime.executors.rest.values import Writer, refused, segment_of

_PLACE = re.compile(r"\{([^{}]+)\}")
_DOTS = frozenset({".", ".."})
_PATH_SAFE = "/%:@!$&'()*+,;=~"
_QUERY_SAFE = "%:@!$'()*,;/?~"


class Template(NamedTuple):
    """Literals with the names of arguments between them: one literal more than names."""

    literals: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """True for one place and nothing else."""
        return len(self.names) == 1 and self.literals == ("", "")


def template_of(text: str) -> Template:
    """A text, taken apart."""
    parts = _PLACE.split(text)
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def is_given(template: Template, arguments: Mapping[str, Any]) -> bool:
    """True when every argument it names is there."""
    return all(arguments.get(name) is not None for name in template.names)


def literal_path(text: str) -> str:
    """What an author wrote in a path, with whatever a path cannot hold percent-encoded."""
    return quote(text, safe=_PATH_SAFE)


def literal_query(text: str) -> str:
    """The same for one side of `name=value`."""
    return quote(text, safe=_QUERY_SAFE)


class Segment(NamedTuple):
    """One segment of a path that holds arguments."""

    literals: tuple[str, ...]
    names: tuple[str, ...]
    writers: tuple[Writer, ...]

    def filled(self, arguments: Mapping[str, Any]) -> str:
        """The segment, one segment still unless an argument may hold slashes. Raises ExecutionFailed
        (`invalid_arguments`)."""
        names, literals, writers = self.names, self.literals, self.writers
        made = literals[0]
        for index, name in enumerate(names):
            made += writers[index](name, arguments.get(name)) + literals[index + 1]
        if "/" in made:
            for part in made.split("/"):
                if not part or _leads_away(part):
                    raise refused(names[0], "must not have empty parts, '.' or '..' between its slashes")
        elif not made:
            raise refused(names[0], "must not be empty: it is part of the path")
        elif made[0] in ".%" and _leads_away(made):
            raise refused(names[0], "must not be '.' or '..': it would lead to another path")
        return made


def _leads_away(segment: str) -> bool:
    """True for a segment that servers take for this folder or the one above; some leave out what follows a semicolon."""
    return unquote(segment).partition(";")[0] in _DOTS


class PathTemplate:
    """A path with places. An argument stays within its segment, whatever it is."""

    __slots__ = ("_fixed", "_parts", "names", "text")

    def __init__(
        self, text: str, aliases: Mapping[str, str], writers: Mapping[str, Writer] = MappingProxyType({})
    ) -> None:
        """`aliases`: which argument fills a place that has another name; `writers`: what writes arguments that are not
        written plainly."""
        self.text = text
        self._parts: list[str | Segment] = []
        names: list[str] = []
        for segment in text.split("/"):
            taken = template_of(segment)
            literals = tuple(map(literal_path, taken.literals))
            if taken.names:
                fillers = tuple(aliases.get(name, name) for name in taken.names)
                how = tuple(writers.get(name, segment_of) for name in fillers)
                self._parts.append(Segment(literals, fillers, how))
                names += fillers
            elif self._parts and isinstance(self._parts[-1], str):
                self._parts[-1] += "/" + literals[0]
            else:
                self._parts.append(literals[0])
        self.names = tuple(names)
        self._fixed = "/".join(part for part in self._parts if isinstance(part, str))
        """The whole path, where nothing is filled in."""

    def filled(self, arguments: Mapping[str, Any]) -> str:
        """The path. Raises ExecutionFailed (`invalid_arguments`)."""
        if not self.names:
            return self._fixed
        return "/".join([part if part.__class__ is str else part.filled(arguments) for part in self._parts])  # type: ignore[union-attr]  # a segment
