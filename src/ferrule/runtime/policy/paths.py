"""Matches path arguments against globs.

Paths are normalised as text, without file access, and read in every way a tool may read them. A deny or ask holds
when any reading fits; an allow only when every reading does. A path without a certain reading (`~bob/x`, `$HOME/x`)
fits every deny and no allow.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ferrule.runtime.policy.globs import Segments

_LONGEST = 8192
_VARIABLE = re.compile(r"\$[A-Za-z_{(]|%[A-Za-z_]+%")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class PathBase(NamedTuple):
    """The folders that relative paths and `~` start from."""

    root: str
    home: str = ""


class PathReadings(NamedTuple):
    """The absolute paths a text may mean."""

    paths: tuple[str, ...]
    is_certain: bool


def read_path(text: str, base: PathBase) -> PathReadings:
    """Lists every path the text may mean, absolute and without `.` and `..`; none for a text longer than any path."""
    if len(text) > _LONGEST:
        return PathReadings((), False)
    texts = [text]
    is_certain = not _CONTROL.search(text) and not _VARIABLE.search(text) and bool(text)
    if text[:5].lower() == "file:":
        host, path = _split_file_url(text)
        is_certain = is_certain and host in ("", "localhost")
        texts = [path]
    if "%" in texts[0]:
        # Some tools decode percent escapes, some do not; both readings count.
        texts.append(unquote(texts[0]))
    if "\\" in text or any("\\" in each for each in texts):
        # Windows tools take backslashes for separators.
        texts += [each.replace("\\", "/") for each in texts]
    paths: list[str] = []
    for each in dict.fromkeys(texts):
        absolute = _make_absolute(each, base)
        is_certain = is_certain and absolute is not None
        paths.append(posixpath.normpath("/" + (absolute if absolute is not None else each).lstrip("/")))
    return PathReadings(tuple(dict.fromkeys(paths)), is_certain)


def _split_file_url(text: str) -> tuple[str, str]:
    try:
        parts = urlsplit(text)
    except ValueError:
        return "?", text[5:]
    return parts.netloc.lower(), unquote(parts.path)


def _make_absolute(text: str, base: PathBase) -> str | None:
    if text.startswith("~"):
        start, _, rest = text.partition("/")
        return f"{base.home}/{rest}" if start == "~" and base.home else None
    return text if text.startswith("/") else f"{base.root}/{text}"


def compile_path_globs(pattern: str, base: PathBase, *, is_strict: bool) -> tuple[Segments, ...]:
    """Compiles a rule's glob over absolute paths. Relative ones start at the workspace, and `**/x` fits anywhere."""
    parts = split_glob(pattern, base, is_strict=is_strict)
    return tuple(Segments(each, needs_more=is_strict) for each in parts)


def split_glob(pattern: str, base: PathBase, *, is_strict: bool) -> list[list[str]]:
    """Returns the segments of every absolute glob that a glob of a rule stands for."""
    texts = [_anchor(pattern, base), "/" + pattern] if pattern.startswith("**/") else [_anchor(pattern, base)]
    return [split_path(text, is_strict=is_strict) for text in texts]


def split_path(text: str, *, is_strict: bool) -> list[str]:
    """Returns the segments to compare. For an allow case counts; else neither case nor composition of letters does."""
    return _normalize(text if is_strict or (text.isascii() and text.islower()) else _fold_case(text))


def _anchor(pattern: str, base: PathBase) -> str:
    # A root or home with `[` or `*` in its name must not act as a glob.
    if pattern.startswith("~/") or pattern == "~":
        return f"{_escape_glob(base.home)}{pattern[1:]}" if base.home else "/?"
    return pattern if pattern.startswith("/") else f"{_escape_glob(base.root)}/{pattern}"


def _escape_glob(text: str) -> str:
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", text)


def _normalize(path: str) -> list[str]:
    """Splits a path, resolving `.` and `..` as `posixpath.normpath` does; in a pattern `..` never climbs over a `**`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "**":
            parts.pop()
        elif part != "..":
            parts.append(part)
    return parts


def _fold_case(text: str) -> str:
    """Folds case and composition of letters, which a file system may ignore."""
    # Folding case may take composed letters apart, so they are composed again.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class PathMatcher:
    """The path part of one rule. `is_strict` for an allow: case counts, and `src/**` is not `src` itself."""

    __slots__ = ("_base", "_globs", "_is_strict")

    def __init__(self, patterns: tuple[str, ...], base: PathBase, *, is_strict: bool) -> None:
        self._globs = tuple(
            glob for pattern in patterns for glob in compile_path_globs(pattern, base, is_strict=is_strict)
        )
        self._base = base
        self._is_strict = is_strict

    def fits(self, value: object) -> bool:
        """Returns True when an argument's value fits: in every reading for an allow, in any for a deny or ask."""
        if not isinstance(value, str):
            return not self._is_strict
        paths, is_certain = read_path(value, self._base)
        if self._is_strict:
            return is_certain and all(map(self._fits_path, paths))
        return not is_certain or any(map(self._fits_path, paths))

    def _fits_path(self, path: str) -> bool:
        parts = split_path(path, is_strict=self._is_strict)
        return any(glob.fits(parts) for glob in self._globs)

    def describe(self, value: object) -> str:
        """Returns the value as `blocked_path` records it."""
        if not isinstance(value, str):
            return str(value)
        paths, is_certain = read_path(value, self._base)
        return next((path for path in paths if is_certain and self._fits_path(path)), value)
