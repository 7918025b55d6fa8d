"""The redactor: removes known secrets and well-known tokens from texts, values and streams (AT-84, AT-124, AT-233).

It reports what it removed by name: `secret:NAME`, `pattern:NAME`, and `sensitive_field` for values that are secret
for one call only. In JSON values it cleans texts, keys and numbers, at any depth. Settings say which environment
variables hold secrets; parts that fetch credentials add theirs as they go.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.matcher import Matcher
from ferrule.runtime.redaction.patterns import OPENINGS, Pattern, is_harmless
from ferrule.runtime.redaction.search import MARK, Search
from ferrule.runtime.redaction.spellings import SecretSpelling, list_spellings
from ferrule.runtime.redaction.stream import RedactionStream

T = TypeVar("T")
_MARK = MARK.decode()
_pack = msgspec.msgpack.Encoder().encode
_CONTAINERS = (dict, list, tuple)
_NUMBERS = (int, float)
_UNPACKABLE = (OverflowError, RecursionError, TypeError, UnicodeEncodeError, ValueError)


def normalize_number(secret: str) -> str:
    """Returns a secret in the form a JSON number would have; empty for one that is no number."""
    text = secret.strip()
    if not text or not text[-1].isdecimal() or len(text) > 400:
        return ""
    try:
        number = float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return ""
    return _format_number(number) if repr(number) == text else ""


def clean_value(search: Search, numbers: Mapping[str, str], value: T) -> tuple[T, tuple[str, ...]]:
    """Redacts a value; returns the very value when it is clean, and the names of what was removed."""
    if not search.patterns and _is_clean(search, value, with_numbers=bool(numbers)):
        return value, ()
    changed, names = search.clean_texts(dict.fromkeys(_iter_leaves(value, (str,))))
    told = map(_format_number, _iter_leaves(value, _NUMBERS)) if numbers else ()
    counted = dict.fromkeys(numbers[text] for text in told if text in numbers)
    if not changed and not counted:
        return value, ()
    return _copy_clean(value, changed, numbers), (*names, *(name for name in counted if name not in names))


def _is_clean(search: Search, value: object, *, with_numbers: bool) -> bool:
    """Scans the encoded value once, which settles most values."""
    try:
        if search.may_hold(_pack(value)):  # msgpack keeps texts as they are
            return False
        # msgpack writes numbers in binary; only JSON shows their digits.
        return not with_numbers or not search.may_hold(msgspec.json.encode(value))
    except _UNPACKABLE:
        return False


def _iter_leaves(value: object, kinds: tuple[type[T], ...]) -> Iterator[T]:
    """Yields every text or number in a value, keys included. Shared and recursive parts are visited once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            yield node
        elif isinstance(node, _CONTAINERS) and id(node) not in seen:
            seen.add(id(node))
            stack += node
            if isinstance(node, dict):
                stack += node.values()


def _format_number(number: float) -> str:
    """Formats a number as JSON does; empty for true and false."""
    if isinstance(number, bool):
        return ""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    try:
        return repr(number)
    except ValueError:  # past Python's limit for digits of an int
        return ""


def _copy_clean(value: T, changed: Mapping[str, str], numbers: Mapping[str, str]) -> T:
    top: list[Any] = [None]
    made: dict[int, Any] = {}
    tuples: list[tuple[Any, Any]] = []
    stack: list[tuple[Any, Any, Any]] = [(top, 0, value)]
    # A stack and not recursion: a tool's value may be nested without end, or contain itself.
    while stack:
        place, key, node = stack.pop()
        if isinstance(node, str):
            place[key] = changed.get(node, node)
        elif isinstance(node, _CONTAINERS):
            if isinstance(node, tuple):
                tuples.append((place, key))
            if id(node) in made:
                place[key] = made[id(node)]
                continue
            copy: Any = {} if isinstance(node, dict) else [None] * len(node)
            place[key] = made[id(node)] = copy
            named = _rename_members(node, changed, copy) if isinstance(node, dict) else enumerate(node)
            stack += ((copy, name, member) for name, member in named)
        elif numbers and isinstance(node, _NUMBERS) and _format_number(node) in numbers:
            place[key] = _MARK
        else:
            place[key] = node
    # From the inside out: an outer tuple is made of finished inner ones.
    for place, key in reversed(tuples):
        place[key] = tuple(place[key])
    copy_of_value: T = top[0]
    return copy_of_value


def _rename_members(
    node: dict[Any, object], changed: Mapping[str, str], copy: dict[object, object]
) -> list[tuple[object, object]]:
    """Lists the members under their redacted names. Two names that were secret stay two, in order."""
    named = []
    number = 1
    for name, member in node.items():
        new = changed.get(name, name) if isinstance(name, str) else name
        while new in copy:
            number += 1
            new = f"{changed.get(name, name)} {number}"
        copy[new] = None
        named.append((new, member))
    return named


SENSITIVE_FIELD = "sensitive_field"
MAX_LEARNED = 4096
"""The limit of learned secrets; the oldest makes way. Those of the settings always stay."""
_MAX_RECENT = 16
"""New secrets searched beside the others before one automaton is built from all: that takes milliseconds."""


class KnownSecrets:
    """The secrets known to this process: implements `contracts.redactor.Redactor`. Safe from any thread."""

    def __init__(self, settings: RedactionSettings, environment: Mapping[str, str]) -> None:
        """Raises SettingsError for a pattern that cannot be used."""
        names = [pattern.name for pattern in settings.patterns]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise SettingsError(f"[[redaction.patterns]] {repeated!r} is there twice; give each pattern its own name")
        self._patterns = tuple(map(Pattern, settings.patterns))
        self._is_well_known = settings.well_known
        self._lock = threading.Lock()
        self._fixed: dict[tuple[str, str], tuple[SecretSpelling, ...]] = {}
        self._learned: dict[tuple[str, str], tuple[SecretSpelling, ...]] = {}
        self._recent: dict[tuple[str, str], tuple[SecretSpelling, ...]] = {}
        self._settled: Matcher | None = None
        self._search: Search | None = None
        self._numbers: dict[str, str] = {}
        self._is_simple = False
        """True when nothing but well-known shapes is looked for."""
        for name in settings.secrets_env:
            found = list_spellings(environment.get(name, ""))
            if found:
                self._fixed[f"secret:{name}", environment[name].strip()] = found
        self.is_idle = not (self._fixed or self._patterns or self._is_well_known)
        """True when it knows no secret and no pattern: without `also`, nothing need be looked at."""

    def add(self, name: str, value: str) -> None:
        """Adds a secret under a name. Adding it again costs nothing."""
        key = f"secret:{name}", value.strip()
        if key in self._learned or key in self._recent or key in self._fixed:
            return
        found = list_spellings(value)
        if not found:
            return
        with self._lock:
            # The next use rebuilds the search; until then the old one must not be used.
            self._recent[key] = found
            _trim(self._recent)
            self._search = None
            self.is_idle = False

    def text(self, text: str, also: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Redacts a text; returns it and the names of what was removed."""
        changed, names = self._search_with(also).clean_texts((text,))
        return changed.get(text, text), names

    def value(self, value: T, also: Iterable[str] = ()) -> tuple[T, tuple[str, ...]]:
        """Redacts a JSON value, keys included; returns the very value when it is clean, and the names of what was removed."""
        also = tuple(also)
        search = self._search_with(also)
        numbers = self._numbers
        if also:
            numbers = {**numbers, **{number: SENSITIVE_FIELD for each in also if (number := normalize_number(each))}}
        return clean_value(search, numbers, value)

    def may_hold(self, data: bytes) -> bool:
        """Returns False when bytes that hold texts as they are have nothing to redact. Quick."""
        search = self._search or self._build_search()
        if self._is_simple and is_harmless(data):
            return False
        return bool(search.patterns) or search.may_hold(data)

    def stream(self, also: Iterable[str] = ()) -> RedactionStream:
        """Opens a filter for bytes. It knows the secrets of now, not those added later."""
        return RedactionStream(self._search_with(also))

    def _search_with(self, also: Iterable[str]) -> Search:
        search = self._search or self._build_search()
        if not also:
            return search
        extra = [(SENSITIVE_FIELD, list_spellings(value)) for value in also]
        return search._replace(matchers=(*search.matchers, Matcher(extra)))

    def _build_search(self) -> Search:
        with self._lock:
            if self._search is not None:
                return self._search
            # The large automaton is rebuilt only after many additions; the few recent secrets get a small matcher of
            # their own.
            if self._settled is None or len(self._recent) > _MAX_RECENT:
                self._learned.update(self._recent)
                self._recent.clear()
                _trim(self._learned)
                known = (self._fixed | self._learned).items()
                self._settled = Matcher(
                    ((name, found) for (name, _), found in known), OPENINGS if self._is_well_known else (), lasts=True
                )
            pairs = (*self._fixed, *self._learned, *self._recent)
            self._numbers = {number: name for name, value in pairs if (number := normalize_number(value))}
            matchers = [] if not (self._fixed or self._learned) else [self._settled]
            if self._recent:
                matchers.append(Matcher(((name, found) for (name, _), found in self._recent.items()), lasts=True))
            self._is_simple = self._is_well_known and not matchers and not self._patterns
            self._search = Search(tuple(matchers), self._is_well_known, self._patterns)
            return self._search


ONLY_GIVEN = KnownSecrets(RedactionSettings(well_known=False), {})
"""A redactor without secrets of its own: for values that are secret in one call only."""


def _trim(learned: dict[tuple[str, str], tuple[SecretSpelling, ...]]) -> None:
    while len(learned) > MAX_LEARNED:
        del learned[next(iter(learned))]
