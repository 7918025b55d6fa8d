"""Takes known secrets, and everything else that must not be told, out of texts, values and streams (AT-84, AT-124, AT-233).

It names what it took out: `secret:NAME`, `pattern:NAME`, and `sensitive_field` for values that are secret for one call
only. In JSON values it cleans texts, keys and numbers, however deep. Settings say which environment variables hold
secrets; parts that fetch credentials add theirs as they go.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.redaction.matcher import Matcher
from ferrule.runtime.redaction.patterns import OPENINGS, Pattern, is_harmless
from ferrule.runtime.redaction.search import MARK, Search
from ferrule.runtime.redaction.spellings import SecretSpelling, list_spellings
from ferrule.runtime.redaction.stream import RedactionStream

_MARK = MARK.decode()
_pack = msgspec.msgpack.Encoder().encode
_CONTAINERS = (dict, list, tuple)
_NUMBERS = (int, float)
_UNPACKABLE = (OverflowError, RecursionError, TypeError, UnicodeEncodeError, ValueError)


def normalize_number(secret: str) -> str:
    """A secret that may stand in a value as a number, as such; empty for any other."""
    text = secret.strip()
    if not text or not text[-1].isdecimal() or len(text) > 400:
        return ""
    try:
        number = float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return ""
    return _format_number(number) if repr(number) == text else ""


def clean_value(search: Search, numbers: Mapping[str, str], value: Any) -> tuple[Any, tuple[str, ...]]:
    """The value without secrets, and what was taken out; the very value given when that is nothing."""
    if not search.patterns and _is_clean(search, value, with_numbers=bool(numbers)):
        return value, ()
    changed, names = search.clean_texts(dict.fromkeys(_iter_leaves(value, (str,))))
    told = map(_format_number, _iter_leaves(value, _NUMBERS)) if numbers else ()
    counted = dict.fromkeys(numbers[text] for text in told if text in numbers)
    if not changed and not counted:
        return value, ()
    return _copy_clean(value, changed, numbers), (*names, *(name for name in counted if name not in names))


def _is_clean(search: Search, value: Any, *, with_numbers: bool) -> bool:
    """A quick look at the whole value as bytes, which settles most of them."""
    try:
        if search.may_hold(_pack(value)):  # texts stand in it as they are
            return False
        return not with_numbers or not search.may_hold(msgspec.json.encode(value))
    except _UNPACKABLE:
        return False


def _iter_leaves(value: Any, kinds: tuple[type, ...]) -> Iterator[Any]:
    """Every text or number in a value, keys included. Parts that are there twice, or within themselves, count once."""
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
    """As JSON has it; empty for true and false."""
    if isinstance(number, bool):
        return ""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    try:
        return repr(number)
    except ValueError:  # more digits than Python likes to write
        return ""


def _copy_clean(value: Any, changed: Mapping[str, str], numbers: Mapping[str, str]) -> Any:
    top: list[Any] = [None]
    made: dict[int, Any] = {}
    tuples: list[tuple[Any, Any]] = []
    stack: list[tuple[Any, Any, Any]] = [(top, 0, value)]
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
    for place, key in reversed(tuples):
        place[key] = tuple(place[key])
    return top[0]


def _rename_members(node: dict[Any, Any], changed: Mapping[str, str], copy: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The members under the names they will have. Two names that were secret stay two, and all stay in their order."""
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
"""So many learned secrets are kept; then the one learned longest ago makes way. Those of the settings always stay."""
_MAX_RECENT = 16
"""So many new secrets are looked for beside the others before all are put together: that takes a few milliseconds."""


class KnownSecrets:
    """What is known to be secret: meets `contracts.redactor.Redactor`. Safe from any thread."""

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
        """Learn a secret, by the name it is told under. Learning one again costs nothing."""
        key = f"secret:{name}", value.strip()
        if key in self._learned or key in self._recent or key in self._fixed:
            return
        found = list_spellings(value)
        if not found:
            return
        with self._lock:
            self._recent[key] = found
            _trim(self._recent)
            self._search = None
            self.is_idle = False

    def text(self, text: str, also: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
        """The text without secrets, and what was taken out of it."""
        changed, names = self._search_with(also).clean_texts((text,))
        return changed.get(text, text), names

    def value(self, value: Any, also: Iterable[str] = ()) -> tuple[Any, tuple[str, ...]]:
        """A JSON value without secrets, keys included, and what was taken out. The very value given when that is nothing."""
        also = tuple(also)
        search = self._search_with(also)
        numbers = self._numbers
        if also:
            numbers = {**numbers, **{number: SENSITIVE_FIELD for each in also if (number := normalize_number(each))}}
        return clean_value(search, numbers, value)

    def may_hold(self, data: bytes) -> bool:
        """False when bytes of text, in any container that leaves texts as they are, have nothing to take out. Quick."""
        search = self._search or self._build_search()
        if self._is_simple and is_harmless(data):
            return False
        return bool(search.patterns) or search.may_hold(data)

    def stream(self, also: Iterable[str] = ()) -> RedactionStream:
        """A filter for bytes. It knows what is secret by now, not what is added later."""
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
"""Knows nothing by itself: for what is secret in one call only."""


def _trim(learned: dict[tuple[str, str], tuple[SecretSpelling, ...]]) -> None:
    while len(learned) > MAX_LEARNED:
        del learned[next(iter(learned))]
