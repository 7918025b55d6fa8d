"""Commands of arguments against patterns of words. `*` as a word of its own stands for any number of words.

An allow fits when every command of a line fits word for word. A deny or ask fits when any of them begins so, also behind
`sudo`, inside `sh -c "…"`, or where a variable hides the words. Parsing is `policy/shell.py`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from ferrule.policy.globs import test_of
from ferrule.policy.shell import Parsed, Part, Word, parse

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"})
_CARRIERS = frozenset(
    {
        "sudo", "doas", "su", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "xargs", "parallel",
        "command", "builtin", "exec", "eval", "chroot", "unshare", "nsenter", "find", "fd", "watch", "strace", "ltrace",
        "flock", "script", "ssh", "docker", "podman", "kubectl", "busybox", "source", ".", "trap", "coproc", "runuser",
        "if", "then", "else", "elif", "while", "until", "do", "for", "case", "{", "!", "function", "in", "[[",
    }
)  # fmt: skip
"""Words that run, or stand before, the command that follows them somewhere."""
_CRUDE = re.compile(r"[\s;&|()`$<>{}\"'\\=,]+")
_DEPTH = 4


def parsed_of(value: object) -> Parsed:
    """A command line, or a list of words that no shell looks at."""
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return Parsed((Part(tuple(Word(word) for word in value)),), True)
    return Parsed((), False)


class CommandMatcher:
    """The command part of one rule."""

    __slots__ = ("_is_strict", "_patterns")

    def __init__(self, patterns: tuple[str, ...], *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._patterns = tuple(tuple(words_of(pattern)) for pattern in patterns)

    def fits(self, value: object) -> bool:
        """True when the command line fits."""
        parsed = parsed_of(value)
        if self._is_strict:
            return parsed.is_certain and bool(parsed.parts) and all(map(self._allows, parsed.parts))
        return self._hits(value, parsed, _DEPTH)

    def _allows(self, part: Part) -> bool:
        if not part.is_plain or not part.words or part.words[0].is_open:
            return False
        return any(_covers(pattern, part.words) for pattern in self._patterns)

    def _hits(self, value: object, parsed: Parsed, depth: int) -> bool:
        if any(self._begins(words) for part in parsed.parts for words in _starts(part.words)):
            return True
        if not parsed.is_certain and self._occurs(value):
            return True
        inner = [text for part in parsed.parts for text in _handed_on(part.words)]
        return bool(inner) and (not depth or any(self._hits(text, parse(text), depth - 1) for text in inner))

    def _begins(self, words: Sequence[Word]) -> bool:
        return any(_may_begin(pattern, words) for pattern in self._patterns)

    def _occurs(self, value: object) -> bool:
        """For lines that cannot be parsed: the words of a pattern anywhere in the text."""
        if not isinstance(value, str):
            return True
        words = [Word(word) for word in _CRUDE.split(value) if word]
        return any(self._begins(words[start:]) for start in range(len(words)))


def words_of(pattern: str) -> list[str]:
    """The words of a pattern. Raises ValueError when its quotes are not closed."""
    return shlex.split(pattern)


def _covers(pattern: Sequence[str], words: Sequence[Word]) -> bool:
    """Every word is one the pattern lists; what the shell would fill in only where any word may stand."""
    ways = _through({0}, pattern)
    for word in words:
        after: set[int] = set()
        for at in ways:
            if at < len(pattern) and pattern[at] == "*":
                after.add(at)
            elif at < len(pattern) and not word.is_open and test_of(pattern[at])(word.text):
                after.add(at + 1)
        ways = _through(after, pattern)
    return len(pattern) in ways


def _may_begin(pattern: Sequence[str], words: Sequence[Word]) -> bool:
    """The words begin as the pattern says, or may do so once the shell has filled in what it fills in."""
    ways = _through({0}, pattern)
    for number, word in enumerate(words):
        if len(pattern) in ways:
            return True
        if word.is_open and ways:
            return True
        after: set[int] = set()
        for at in ways:
            if pattern[at] == "*":
                after.add(at)
            elif _is_called(pattern[at], word.text) if number == 0 else test_of(pattern[at])(word.text):
                after.add(at + 1)
        ways = _through(after, pattern)
    return len(pattern) in ways


def _through(ways: set[int], pattern: Sequence[str]) -> set[int]:
    reached = set(ways)
    for at in ways:
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            reached.add(at)
    return reached


def _is_called(pattern: str, program: str) -> bool:
    """By its name or its place, in any case: file systems may ignore case."""
    test = test_of(pattern.casefold())
    folded = program.casefold()
    return test(folded) or test(folded.rpartition("/")[2])


def _starts(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """The words, and what follows each word where the program runs another one."""
    yield words
    if words and (words[0].is_open or _program(words[0]) in _CARRIERS):
        yield from (words[start:] for start in range(1, len(words)))


def _program(word: Word) -> str:
    return word.text.rpartition("/")[2].casefold()


def _handed_on(words: tuple[Word, ...]) -> Iterator[str]:
    """Texts that a shell further down would read as command lines."""
    programs = [number for number, word in enumerate(words) if _program(word) in _SHELLS or _program(word) in _CARRIERS]
    if not programs:
        return
    for word in words[programs[0] + 1 :]:
        if re.search(r"[\s;&|`$]", word.text):
            yield word.text
