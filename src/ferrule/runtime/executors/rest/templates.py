"""Templates in a definition, such as `/orders/{id}` or `tenant-{name}`: compiled once, filled per call.

`mapping.py` compiles them, `plan.py` fills them with the writers of `values.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote, unquote

from ferrule.runtime.executors.rest.values import Writer, segment_of, unsendable

_PLACE = re.compile(r"\{([^{}]+)\}")
_DOTS = frozenset({".", ".."})
_PATH_SAFE = "/%:@!$&'()*+,;=~"
_QUERY_SAFE = "%:@!$'()*,;/?~"


class Template(NamedTuple):
    """Literals with names of arguments between them: one literal more than names."""

    literals: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """True for a single argument without literals."""
        return len(self.names) == 1 and self.literals == ("", "")


def template_of(text: str) -> Template:
    """Parses a text into a template."""
    parts = _PLACE.split(text)
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def is_given(template: Template, arguments: Mapping[str, object]) -> bool:
    """Returns True when every argument that it names is given."""
    return all(arguments.get(name) is not None for name in template.names)


def literal_path(text: str) -> str:
    """Percent-encodes what an author wrote in a path, where a path cannot hold it."""
    return quote(text, safe=_PATH_SAFE)


def literal_query(text: str) -> str:
    """Percent-encodes what an author wrote on one side of `name=value`, where a query cannot hold it."""
    return quote(text, safe=_QUERY_SAFE)


class PathSegment(NamedTuple):
    """One segment of a path with arguments in it."""

    literals: tuple[str, ...]
    names: tuple[str, ...]
    writers: tuple[Writer, ...]

    def fill(self, arguments: Mapping[str, object]) -> str:
        """Fills the segment; it stays one segment unless an argument may hold slashes. Raises ExecutionFailed
        (`invalid_arguments`)."""
        names, literals, writers = self.names, self.literals, self.writers
        made = literals[0]
        for index, name in enumerate(names):
            made += writers[index](name, arguments.get(name)) + literals[index + 1]
        if "/" in made:
            for part in made.split("/"):
                if not part or _leads_away(part):
                    raise unsendable(names[0], "must not have empty parts, '.' or '..' between its slashes")
        elif not made:
            raise unsendable(names[0], "must not be empty: it is part of the path")
        # No other first letter can begin a `.`, encoded or not.
        elif made[0] in ".%" and _leads_away(made):
            raise unsendable(names[0], "must not be '.' or '..': it would lead to another path")
        return made


def _leads_away(segment: str) -> bool:
    """Returns True for `.` and `..`, also with a suffix after a semicolon, which some servers drop."""
    return unquote(segment).partition(";")[0] in _DOTS


class PathTemplate:
    """A path with arguments in it. An argument cannot leave its segment."""

    __slots__ = ("_fixed", "_parts", "names", "text")

    def __init__(
        self, text: str, aliases: Mapping[str, str], writers: Mapping[str, Writer] = MappingProxyType({})
    ) -> None:
        """`aliases`: arguments by the names of their placeholders, where they differ; `writers`: writers of arguments with a
        style of their own."""
        self.text = text
        self._parts: list[str | PathSegment] = []
        names: list[str] = []
        for segment in text.split("/"):
            taken = template_of(segment)
            literals = tuple(map(literal_path, taken.literals))
            if taken.names:
                fillers = tuple(aliases.get(name, name) for name in taken.names)
                how = tuple(writers.get(name, segment_of) for name in fillers)
                self._parts.append(PathSegment(literals, fillers, how))
                names += fillers
            elif self._parts and isinstance(self._parts[-1], str):
                self._parts[-1] += "/" + literals[0]
            else:
                self._parts.append(literals[0])
        self.names = tuple(names)
        self._fixed = "/".join(part for part in self._parts if isinstance(part, str))
        """The complete path, when it has no arguments."""

    def fill(self, arguments: Mapping[str, object]) -> str:
        """Fills the path. Raises ExecutionFailed (`invalid_arguments`)."""
        if not self.names:
            return self._fixed
        return "/".join([part if part.__class__ is str else part.fill(arguments) for part in self._parts])  # type: ignore[union-attr]  # a segment
