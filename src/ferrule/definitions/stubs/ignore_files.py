"""Reads the patterns of `.ferrule-ignore` and `.adl-ignore`: files that no generator may touch (ADL-49, ADL-50).

A pattern is a path from the output folder, with `/`. It means that file, or one that ends with the same folders and name:
`tools/get.go` is also `cmd/tools/get.go`, and never `mytools/get.go`. `dir/` and `dir/*` are everything below a folder; any
other pattern with a `*` is held against the whole path, where `*` and `?` stay within one folder and `**` does not. Empty
lines and lines that begin with `#` say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

IGNORE_FILE = ".ferrule-ignore"
"""What `ferrule gen` keeps: it lists the files that belong to a person."""
IGNORE_FILES = (IGNORE_FILE, ".adl-ignore")

_FIRST_LINES = (
    "# Files that are yours: `ferrule gen` wrote them once and never writes them again. New ones are added below.",
    "# To have one made anew, delete the file and its line here. You may list other files to keep them as they are.",
)
_TOKEN = re.compile(r"\*\*|\*|\?|\[(?:!|\^)?\]?[^\]]*\]|.", re.DOTALL)


class IgnorePatterns:
    """The patterns of a folder's ignore files."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._folders: list[str] = []
        self._globs: list[re.Pattern[str]] = []
        for text in texts:
            for line in text.splitlines():
                self._add(line)

    def _add(self, line: str) -> None:
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            return
        pattern = pattern.replace("\\", "/").removeprefix("./").removeprefix("/")
        if "*" in pattern:
            self._globs.append(_compile_glob(pattern))
        elif pattern.endswith("/"):
            self._folders.append(pattern)
        elif pattern:
            self._names.add(pattern)

    def covers(self, path: str) -> bool:
        """True for a path that nobody may write."""
        return (
            self._is_named(path)
            or any(path.startswith(folder) for folder in self._folders)
            or any(pattern.fullmatch(path) for pattern in self._globs)
        )

    def _is_named(self, path: str) -> bool:
        while path not in self._names:
            _, is_below, path = path.partition("/")
            if not is_below:
                return False
        return True


@lru_cache(maxsize=1024)
def _compile_glob(pattern: str) -> re.Pattern[str]:
    """Returns a pattern with stars. `dir/*` and `dir/` mean anything below the folder, however deep."""
    folder = pattern.removesuffix("*") if pattern.endswith("/*") else pattern
    written = "".join(map(_translate_token, _TOKEN.findall(folder)))
    return re.compile(written + (".+" if folder.endswith("/") else ""), re.DOTALL)


def _translate_token(token: str) -> str:
    match token:
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
    if len(token) < 3:
        return re.escape(token)
    inside = token[1:-1]
    mark = "^/" if inside[0] in "!^" else ""
    members = inside[1:] if mark else inside
    kept = re.sub(r"([\[\]\\^&~|])", r"\\\1", members)
    return f"(?!/)[{mark}{kept}]" if _is_set(f"[{mark}{kept}]") else re.escape(token)


def _is_set(written: str) -> bool:
    try:
        re.compile(written)
    except re.error:  # a range the wrong way round
        return False
    return True


def add_paths(text: str | None, paths: Iterable[str]) -> str:
    """Returns the ignore file with more paths at its end; every line that is there stays. `text` is None where there is no
    file yet."""
    new = list(paths)
    if text is None:
        return "\n".join((*_FIRST_LINES, "", *new, ""))
    if not new:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else f"{text}{end}"
    return before + "".join(f"{path}{end}" for path in new)
