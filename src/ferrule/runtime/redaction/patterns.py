"""Patterns of secrets: well-known tokens, and the workspace's own patterns (`[[redaction.patterns]]`).

Tokens of known services, bearer tokens and private keys begin with rare words; only there the whole shape is
matched, so texts without them cost one quick pass. Ids, digests, addresses and encoded pictures have no such shape.
Own patterns are compiled and tried when settings are loaded. Python's expressions have no time limit, so one that
explodes on short texts is refused, each scans a few thousand characters at a time, and a slow one redacts the rest
unread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from functools import cached_property

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from ferrule.errors import SettingsError
from ferrule.model.persistence import RedactionPattern
from ferrule.runtime.redaction.matcher import SecretSpan

MAX_MATCH_CHARS = 4096
"""A longer match is not seen completely."""
_MAX_NARROW_CHARS = 256
_PATIENCE_SECONDS = 0.5
"""The time limit of one pattern for one text, over all its windows."""
_TRIAL_SECONDS = 0.02
_SIZES = (*range(8, 33, 2), 64, 128, 256, 512)
_CHARACTERS = "a0 "


class Pattern:
    """One expression, the name it is reported under, and a literal that every match contains."""

    __slots__ = ("_expression", "_is_narrow", "_literal", "name")

    def __init__(self, pattern: RedactionPattern) -> None:
        self.name = f"pattern:{pattern.name}"
        try:
            self._expression = re.compile(pattern.pattern)
            self._literal, self._is_narrow = _analyze(self._expression)
        except (re.error, RecursionError, OverflowError) as error:
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} is no regular expression: {error}; mend or remove it"
            ) from None
        if self._expression.match("") is not None:
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} matches the empty text, so it would match everywhere;"
                " write + in place of *, or say what has to be there"
            )
        if not _is_quick(self._expression):
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} takes too long on some short texts: it repeats something that is"
                " itself repeated; give the repeats a bound ({1,64}) or say what stands between them"
            )

    def may_hold(self, text: str) -> bool:
        """Returns False when a text lacks the literal of every match."""
        return self._literal in text

    def find_matches(self, text: str, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yields the matches from `start` on, in order, without overlaps."""
        if self._is_narrow:
            for found in self._expression.finditer(text, start) if self._literal in text else ():
                if found.end() > found.start():
                    yield found.span()
            return
        given_up_at = time.perf_counter() + _PATIENCE_SECONDS
        while start < len(text):
            at = text.find(self._literal, start)
            if at < 0:
                return
            if time.perf_counter() > given_up_at:
                # Fails closed: what could not be searched in time is taken out as a whole.
                yield start, len(text)
                return
            # Every match holds the literal, so none begins further before it than a match is long.
            start = max(start, at - MAX_MATCH_CHARS)
            end = start + 2 * MAX_MATCH_CHARS
            match = self._expression.search(text, start, end)
            if match is None or (match.start() >= start + MAX_MATCH_CHARS and end < len(text)):
                start += MAX_MATCH_CHARS
            elif match.end() == match.start():
                start = match.end() + 1
            else:
                yield match.span()
                start = match.end()


def _analyze(expression: re.Pattern[str]) -> tuple[str, bool]:
    """Returns the longest literal of every match, and whether all matches are short."""
    parsed = re._parser.parse(expression.pattern)  # type: ignore[attr-defined]
    _, longest = parsed.getwidth()
    if expression.flags & re.IGNORECASE:
        # A match may have the literal in another case.
        return "", longest <= _MAX_NARROW_CHARS
    runs = [""]
    for operation, argument in parsed:
        runs = [*runs[:-1], runs[-1] + chr(argument)] if operation is re._constants.LITERAL else [*runs, ""]  # type: ignore[attr-defined]
    return max(runs, key=len), longest <= _MAX_NARROW_CHARS


def _is_quick(expression: re.Pattern[str]) -> bool:
    """Returns False for an expression that explodes on growing texts of one repeated character, while it is still small."""
    own = [character for character in dict.fromkeys(expression.pattern) if character not in "()[]{}|?*+\\^$"]
    for character in (*_CHARACTERS, *own[:3]):
        for size in _SIZES:
            text = character * size + "\0"
            started = time.perf_counter()
            expression.search(text)
            if time.perf_counter() - started > _TRIAL_SECONDS:
                started = time.perf_counter()
                expression.search(text)  # again: the machine may have been busy
                if time.perf_counter() - started > _TRIAL_SECONDS:
                    return False
    return True


MAX_SHAPE_BYTES = 4096
"""A stream waits for no more bytes of a shape than this."""
_EDGE = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""The place where a token may begin: not within a word, but right after an escape."""
_HAS_DIGIT = rb"(?=[A-Za-z._~+/-]{0,200}[0-9])"
BODY = re.compile(rb"[\w.~+/=-]*")
"""The characters a token goes on with."""
_BREAK = rb"(?:\s|\\+[rn])"
_KEY = rb"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM, _END = rb"-----BEGIN " + _KEY, rb"-----END " + _KEY

_HEADER = rb"[A-Z][A-Za-z-]{1,20}: [A-Za-z0-9 ,.()/+-]{0,80}"
"""A header line of a key. Nothing else may be inside, since all of it is hidden from those who approve."""


class _SecretShape:
    """The shape of one kind of secret: its openings, the whole, and an unfinished beginning.

    Compiled when first needed: most processes never meet one.
    """

    def __init__(
        self, name: str, openings: tuple[bytes, ...], core: bytes, still_open: bytes, edge: bytes, end: bytes = b""
    ) -> None:
        self.name = f"pattern:{name}"
        self.openings = openings
        self._core, self._still_open, self._edge, self._end = core, still_open, edge, end

    @cached_property
    def core(self) -> re.Pattern[bytes]:
        """The expression of the shape itself."""
        return re.compile(self._core)

    @cached_property
    def in_place(self) -> re.Pattern[bytes]:
        """The expression of the shape with its surroundings."""
        return re.compile(self._edge + self._core + self._end)

    @cached_property
    def beginning(self) -> re.Pattern[bytes]:
        """The expression of bytes that may become the shape with more of them."""
        return re.compile(rb"(?:" + self._still_open + rb")\Z")


def _make_token(
    name: str, *openings: bytes, body: bytes, rest: bytes, edge: bytes = _EDGE, end: bytes = b""
) -> _SecretShape:
    """Builds the shape of openings followed by `rest`, which consists of `body` characters."""
    words = rb"(?:" + rb"|".join(map(re.escape, openings)) + rb")"
    return _SecretShape(name, openings, words + rest, words + body + rb"*", edge, end)


_SHAPES = (
    _make_token(
        "openai_key",
        b"sk-",
        body=rb"[\w-]",
        rest=_HAS_DIGIT + rb"(?=[\w-]{0,40}?[A-Za-z0-9]{12})[\w-]{20,}",
        edge=rb"(?<!-)" + _EDGE,
    ),
    _make_token("stripe_key", b"sk_live_", b"rk_live_", b"sk_test_", body=rb"\w", rest=rb"[A-Za-z0-9]{16,}"),
    _make_token("github_token", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", body=rb"\w", rest=rb"[A-Za-z0-9]{30,}"),
    _make_token("github_token", b"github_pat_", body=rb"\w", rest=rb"\w{40,}"),
    _make_token("gitlab_token", b"glpat-", body=rb"[\w-]", rest=rb"[\w-]{20,}"),
    _make_token("slack_token", b"xox", body=rb"[\w-]", rest=rb"[abeoprs]-(?:\d-)?[A-Za-z0-9-]{10,}"),
    _make_token("aws_key_id", b"AKIA", b"ASIA", body=rb"\w", rest=rb"[A-Z2-7]{16}", end=rb"(?!\w)"),
    _make_token("ferrule_key", b"frl_", body=rb"[\w-]", rest=rb"[0-9a-f]{8}_[\w-]{20,}"),
    _make_token("google_key", b"AIza", body=rb"[\w-]", rest=rb"[\w-]{35}", end=rb"(?![\w-])"),
    _make_token("jwt", b"eyJ", body=rb"[\w.=-]", edge=rb"(?<!-)" + _EDGE,
                rest=rb"[\w-]{8,}={0,2}\.eyJ[\w-]{8,}={0,2}\.[\w-]*={0,2}"),
    _SecretShape(
        "bearer_token",
        (b"Bearer", b"bearer", b"BEARER"),
        rb"(?i:bearer)(?:[ \t]|%20|\+){1,8}(?P<token>" + _HAS_DIGIT + rb"[\w.~+/-]{16,}={0,2})",
        rb"(?i:bearer)(?:[ \t]|%20|%2|%|\+){0,8}[\w.~+/-]*={0,2}",
        _EDGE,
    ),
    _SecretShape(
        "private_key",
        (b"-----BEGIN ",),
        _PEM + rb"(?:" + _BREAK + rb"{1,8}" + _HEADER + rb"){0,4}(?:" + _BREAK + rb"{1,80}[A-Za-z0-9+/=]{16,})*"
        + rb"(?:(?:" + _BREAK + rb"{1,80}[A-Za-z0-9+/=]{1,15}){0,2}" + _BREAK + rb"{0,80}" + _END + rb")?",
        rb"-----BEGIN [A-Z0-9 ]*-{0,4}|" + _PEM + rb"(?:(?!" + _END + rb")[\w\s\\+/=:,.()-])*",
        b"",
    ),
)  # fmt: skip
_BY_OPENING = {opening: shape for shape in _SHAPES for opening in shape.openings}
OPENINGS = tuple(_BY_OPENING)
"""The openings of all shapes."""
_LONGEST_OPENING = max(map(len, OPENINGS))
_PREFIXES = frozenset(opening[:end] for opening in OPENINGS for end in range(1, len(opening)))
_automaton = BytesAhoCorasick(OPENINGS, matchkind=MatchKind.Standard, implementation=Implementation.DFA)
_HINT = re.compile(
    rb"[kgbBxKSIyf-][-_hleEoIzJBr](?:(?<=k[-_])|(?<=fr)l_|(?<=gh)[pousr]_|(?<=gl)pat|(?<=b_)pat|(?<=[bB]e)ar|(?<=BE)AR|(?<=xo)x"
    rb"|(?<=[KS]I)A|(?<=Iz)a|(?<=yJ)|(?<=-B))"
)
"""A few letters of every opening that are rare together elsewhere."""
_SHORT = 512
"""Up to this size the hint is quicker: the automaton releases the GIL, and getting it back may take long."""


def is_harmless(data: bytes) -> bool:
    """Returns True for short bytes without an opening. False means nothing."""
    return len(data) <= _SHORT and _HINT.search(data) is None


def find_openings(data: bytes) -> list[tuple[int, bytes]]:
    """Returns the openings in the data, each with its position."""
    if is_harmless(data):
        return []
    found = _automaton.find_matches_as_indexes(data, overlapping=True)
    return [(start, OPENINGS[number]) for number, start, _ in found] if found else []


def may_hold(data: bytes, openings: Iterable[tuple[int, bytes]]) -> bool:
    """Returns False when none of the openings continues like its shape, whatever surrounds it."""
    return any(_BY_OPENING[opening].core.match(data, start) for start, opening in openings)


def find_spans(data: bytes, openings: Iterable[tuple[int, bytes]]) -> Iterator[SecretSpan]:
    """Yields every well-known shape that begins with one of these openings."""
    ends: dict[str, int] = {}
    for start, opening in sorted(openings):
        shape = _BY_OPENING[opening]
        if start < ends.get(shape.name, 0):
            continue  # inside the previous match; matching at every word of a long one would be quadratic
        found = shape.in_place.match(data, start)
        if found is not None:
            ends[shape.name] = found.end()
            yield SecretSpan(
                found.start("token") if "token" in shape.in_place.groupindex else start, found.end(), shape.name
            )


def find_open_end(data: bytes, since: int) -> int:
    """Returns the start of the first bytes, from `since` on, that may become such a shape once more bytes arrive."""
    end = len(data)
    begin = max(since, end - MAX_SHAPE_BYTES)
    for start, opening in find_openings(data[begin:]):
        if _BY_OPENING[opening].beginning.match(data, begin + start):
            return begin + start
    for start in range(max(since, end - _LONGEST_OPENING + 1), end):
        if data[start:] in _PREFIXES:
            return start
    return end
