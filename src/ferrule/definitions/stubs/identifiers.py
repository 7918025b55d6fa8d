"""Identifiers made of names: legal in a language, readable, all different, and as stable as can be.

A name keeps the identifier its words give unless another name wants the same. Then the name that is spelled like the
identifier, or in plain words (`user_id`), keeps it, and the others say the characters that were lost (`user-id` beside
`user_id` is `user_dash_id`) or, where that does not help, carry digits of a digest of their own. So what a name is called
depends on others only where they clash.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

_CAPITALS = """
    acl api arn ascii aws cidr cpu css csv db dns eof gb gcp gpu grpc guid html http https iam icmp
    id imap io ip ipv4 ipv6 js json jwt kb mb mcp md5 mime oauth os pdf pid ram rest rpc sdk sha
    sha1 sha256 sla smtp sql sse ssh ssl tcp tls tsv ttl udp ui uid uri url utc utf8 uuid vm vpc xml
    xss yaml
"""
ACRONYMS = frozenset(_CAPITALS.split())
"""Words that are written in capitals (ADL-42); an agent file may name more."""

_SIGNS = "-./\\:@$#%&+*=<>!?~^| _,;'\"()[]{}`"
_SIGN_WORDS = """
    dash dot slash backslash colon at dollar hash percent and plus star equals less greater not question tilde caret or space
    underscore comma semicolon quote quotes open close bracket unbracket brace unbrace backtick
"""
_SPELLED = dict(zip(_SIGNS, _SIGN_WORDS.split(), strict=True))
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "ð": "d", "þ": "th"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[A-Z][0-9]*|[0-9]+[a-z]*")
_MARK = 4
_LONGEST_READ = 400
"""How much of a name is read: names that differ further on are told apart by their digests."""


def split_words(name: str, *, is_spelled: bool = False) -> tuple[str, ...]:
    """Returns the lower-case words of a name in snake, kebab, camel or any other case; at least one. `is_spelled`: with
    the characters that are no letters and digits."""
    name = name[:_LONGEST_READ]
    found = _split_words(name, is_spelled) or _split_words(name, True)
    return found or ("empty",)


@lru_cache(maxsize=4096)
def _split_words(name: str, is_spelled: bool) -> tuple[str, ...]:
    text = name if name.isascii() else _transliterate(name)
    if is_spelled:
        text = "".join(
            f" {_SPELLED[one]} " if one in _SPELLED else one if one.isalnum() else f" u{ord(one)} " for one in text
        )
    return tuple(word.lower() for word in _WORD.findall(text))


def _transliterate(name: str) -> str:
    """Returns the nearest name in ASCII: accents go, and a letter that has no near one is its number."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    return "".join(one if one.isascii() else "" if unicodedata.combining(one) else f" u{ord(one)} " for one in plain)


def pascal(parts: Sequence[str], acronyms: frozenset[str] = ACRONYMS) -> str:
    """Joins words as `GetUserID`."""
    made = capitalize(parts, acronyms)
    return made if made[0].isalpha() else f"N{made}"


def capitalize(parts: Sequence[str], acronyms: frozenset[str] = ACRONYMS) -> str:
    """Returns the later part of such a name: it may begin with a digit."""
    return "".join(word.upper() if word in acronyms else word[0].upper() + word[1:] for word in parts)


def camel(parts: Sequence[str], acronyms: frozenset[str] = ACRONYMS) -> str:
    """Joins words as `getUserID`."""
    first = parts[0] if parts[0][0].isalpha() else f"n{parts[0]}"
    return first + capitalize(parts[1:], acronyms)


def snake(parts: Sequence[str], acronyms: frozenset[str] = ACRONYMS) -> str:
    """Joins words as `get_user_id`."""
    made = "_".join(parts)
    return made if made[0].isalpha() else f"n{made}"


class Style(NamedTuple):
    """How a language writes identifiers of one kind."""

    case: Callable[[Sequence[str], frozenset[str]], str]
    """`pascal`, `camel` or `snake`."""
    keywords: frozenset[str] = frozenset()
    """What no identifier may be; one that would gets a `_` after it."""
    acronyms: frozenset[str] = ACRONYMS
    longest: int = 120

    def make(self, name: str, *, is_spelled: bool = False) -> str:
        """Returns the identifier of a name, if nobody else wants it."""
        found = self.case(split_words(name, is_spelled=is_spelled), self.acronyms)
        if len(found) > self.longest:
            found = self.mark(name)
        while found in self.keywords:
            found += "_"
        return found

    def mark(self, name: str, digits: int = _MARK) -> str:
        """Returns an identifier that is this name's alone."""
        mark = sha256(name.encode(errors="surrogatepass")).hexdigest()[:digits]
        stem = self.case(split_words(name), self.acronyms)[: self.longest - digits - 2].rstrip("_")
        return f"{stem}_{mark}" if self.case is snake else f"{stem}X{mark}"


def identifiers(names: Iterable[str], style: Style, taken: Iterable[str] = ()) -> dict[str, str]:
    """Returns an identifier for each name, in their order: all different, none of them `taken`."""
    distinct = tuple(dict.fromkeys(names))
    wanted: dict[str, list[str]] = defaultdict(list)
    for name in distinct:
        wanted[style.make(name)].append(name)
    used = set(taken)
    given: dict[str, str] = {}
    late: list[str] = []
    for identifier, claimants in wanted.items():
        # Only names that clash depend on one another: a new tool must not rename others.
        owner = claimants[0] if len(claimants) == 1 else _pick_owner(claimants, identifier)
        if owner is not None and identifier not in used:
            given[owner] = identifier
        late += [name for name in claimants if name not in given]
    if late:
        used |= wanted.keys() | style.keywords
        given |= _distinguish(late, style, used)
    return {name: given[name] for name in distinct}


def _pick_owner(claimants: list[str], identifier: str) -> str | None:
    """Returns the name that an identifier is most likely meant for: the one spelled like it, or else in plain words
    (`user_id`)."""
    plain = snake(split_words(claimants[0]))
    return next((each for each in (identifier, plain) if each in claimants), None)


def _distinguish(names: list[str], style: Style, used: set[str]) -> dict[str, str]:
    spelled: dict[str, list[str]] = defaultdict(list)
    for name in names:
        spelled[style.make(name, is_spelled=True)].append(name)
    given = {claimants[0]: made for made, claimants in spelled.items() if len(claimants) == 1 and made not in used}
    used |= spelled.keys()
    for name in names:
        if name not in given:
            made = next(each for each in (style.mark(name, digits) for digits in range(_MARK, 65)) if each not in used)
            given[name] = made
            used.add(made)
    return given


class UniqueNames:
    """Names given out one after another, none of them twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)

    def give(self, *wanted: str) -> str:
        """Returns the first of the wanted names that is free, or the last with a number behind it."""
        numbered = (f"{wanted[-1]}{number}" for number in range(2, len(self._used) + 3))
        found = next(each for each in (*wanted, *numbered) if each not in self._used)
        self._used.add(found)
        return found
