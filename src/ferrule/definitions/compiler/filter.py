"""Chooses which diagnostics are shown: those of the selected rules, less the ignored ones, less those the settings
file suppresses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from ferrule.contracts.rule import RuleInfo
from ferrule.definitions.compiler.suppress import ELSEWHERE, UNEXPLAINED, UNUSED
from ferrule.errors import SettingsError
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.hints import nearest

_TABLE = re.compile(r"\s*(?:\[\[\s*check\s*\.\s*suppress\s*\]\]|suppress\s*=)")


class SuppressTable(Protocol):
    """One `[[check.suppress]]` table of the settings file."""

    @property
    def rule(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def path(self) -> str: ...


class DiagnosticFilter:
    """Decides which diagnostics are shown, and remembers which settings were of use."""

    def __init__(self, select: tuple[str, ...], ignore: tuple[str, ...], silenced: tuple[SuppressTable, ...]) -> None:
        self._select = select
        self._ignore = ignore
        self._silenced = silenced
        self._used: set[int] = set()

    @classmethod
    def build(
        cls,
        select: Sequence[str],
        ignore: Sequence[str],
        silenced: Sequence[SuppressTable],
        pages: Callable[[], Iterable[RuleInfo]],
    ) -> DiagnosticFilter:
        """Builds a filter. Raises SettingsError for a word that names no rule."""
        words = [*select, *ignore, *(item.rule for item in silenced)]
        if words:
            codes = [page.code for page in pages()]
            for word in words:
                if not any(_covers(word, code) for code in codes):
                    hint = nearest(word.upper(), codes)
                    raise SettingsError(f"there is no rule {word!r}" + (f"; {hint}" if hint else ""))
        return cls(tuple(select), tuple(ignore), tuple(silenced))

    def is_active(self, rule: str) -> bool:
        """True when findings of this rule are shown at all."""
        # Selecting comes first, so that `ignore` can take a rule out of a selected group.
        if self._select and not any(_covers(word, rule) for word in self._select):
            return False
        return not any(_covers(word, rule) for word in self._ignore)

    def filter_file(self, file: str, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Returns the diagnostics of one file that are shown."""
        return [found for found in diagnostics if self.is_active(found.rule) and not self._is_silenced(file, found)]

    def report_unused(self, settings_file: Path, shown: str) -> list[Diagnostic]:
        """Reports suppressions that suppress nothing or give no reason. Meaningful only after a check of every file."""
        complaints = []
        lines = _find_table_lines(settings_file) if self._silenced else []
        for index, item in enumerate(self._silenced):
            # By order: the TOML reader keeps no lines.
            line = lines[index] if index < len(lines) else 1
            if index not in self._used and item.rule.upper() not in ELSEWHERE and self.is_active(item.rule):
                message = f"nothing in {item.path!r} breaks {item.rule}, so its suppression has no use"
                complaints.append(_make_complaint(UNUSED, shown, line, message, "remove the table"))
            if not item.reason.strip():
                message = f"the suppression of {item.rule} gives no reason"
                complaints.append(_make_complaint(UNEXPLAINED, shown, line, message, "fill in `reason`"))
        return [complaint for complaint in complaints if self.is_active(complaint.rule)]

    def _is_silenced(self, file: str, found: Diagnostic) -> bool:
        hit = False
        for index, item in enumerate(self._silenced):
            if _covers(item.rule, found.rule) and (item.path == "**" or fnmatch(file, item.path)):
                self._used.add(index)
                hit = True
        return hit


def _covers(word: str, code: str) -> bool:
    word = word.upper()
    return code == word or code.startswith(word + "-")


def _find_table_lines(file: Path) -> list[int]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [number for number, line in enumerate(text.split("\n"), 1) if _TABLE.match(line)]


def _make_complaint(rule: str, file: str, line: int, message: str, hint: str) -> Diagnostic:
    return Diagnostic(rule, Severity.WARNING, "", file.replace(os.sep, "/"), line, 1, line, 2, message, hint)
