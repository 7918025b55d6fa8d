"""Reads one table of a policy file into typed values, and adds a finding for each defect under one of the codes
listed here.

`read.py`, `read_rule.py` and `cases.py` read through it. It does not know what a rule means. The pages of the codes
are in `definitions/rules/own.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject, Path, is_integer

UNREADABLE = "FER-7"
UNKNOWN_KEY = "FER-8"
MALFORMED = "FER-9"
DUPLICATE_ID = "FER-10"
UNREACHABLE = "FER-11"
OVERRULED = "FER-12"
UNKNOWN_GROUP = "FER-13"
UNANSWERABLE = "FER-14"


class PolicyTable:
    """A mapping at a path. Reading a wrong value adds a finding and returns the default."""

    def __init__(self, value: JsonObject, path: Path, findings: list[Finding]) -> None:
        self.value = value
        self.path = path
        self.findings = findings

    def add_error(self, message: str, *keys: str | int, hint: str | None = None, code: str = MALFORMED) -> None:
        """Adds an error below this table."""
        self.findings.append(Finding(code, (*self.path, *keys), message, Severity.ERROR, hint))

    def refuse_unknown_keys(self, known: Iterable[str], hints: dict[str, str] | None = None) -> None:
        """Adds an error for every key that is not known."""
        names = tuple(known)
        for key in self.value:
            if key not in names:
                hint = (hints or {}).get(key) or nearest(key, names) or f"known: {', '.join(sorted(names))}"
                finding = Finding(
                    UNKNOWN_KEY, (*self.path, key), f"there is no key `{key}` here", hint=hint, on_key=True
                )
                self.findings.append(finding)

    def read_text(self, key: str, default: str = "") -> str:
        """Reads a text that is not empty."""
        value = self.value.get(key, default)
        if isinstance(value, str) and (value.strip() or key not in self.value):
            return value
        self.add_error(f"`{key}` must be a text that is not empty", key)
        return default

    def read_word(self, key: str, known: Sequence[str], default: str | None = None) -> str | None:
        """Reads one of the known words."""
        value = self.value.get(key, default)
        if value is None or value in known:
            return value
        hint = nearest(value, known) if isinstance(value, str) else None
        self.add_error(f"`{key}` must be one of {', '.join(known)}, not {_format_value(value)}", key, hint=hint)
        return default

    def read_words(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        """Reads some of the known words: one, or a list."""
        texts = self.read_texts(key)
        for number, text in enumerate(texts):
            if text not in known:
                message = f"{text!r} is none of {', '.join(known)}"
                self.add_error(message, *self._make_item_path(key, number), hint=nearest(text, known))
        return texts

    def read_texts(self, key: str, defect_of: Callable[[str], str | None] = lambda text: None) -> tuple[str, ...]:
        """Reads a text or a list of texts, each without a defect."""
        value = self.value.get(key, ())
        if key not in self.value:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            self.add_error(f"`{key}` must be a text or a list of texts, not {_format_value(value)}", key)
            return ()
        good: list[str] = []
        for number, item in enumerate(items):
            defect = defect_of(item) if isinstance(item, str) and item.strip() else "it is not a text, or an empty one"
            if defect:
                self.add_error(
                    f"{_format_value(item)} cannot be used in `{key}`: {defect}", *self._make_item_path(key, number)
                )
            else:
                good.append(item)
        return tuple(good)

    def read_flag(self, key: str) -> bool:
        """Reads true or false; false when it is not written."""
        value = self.value.get(key, False)
        if isinstance(value, bool):
            return value
        self.add_error(f"`{key}` must be true or false, not {_format_value(value)}", key)
        return False

    def read_count(self, key: str, default: int) -> int:
        """Reads a whole number of at least 1."""
        value = self.value.get(key, default)
        if is_integer(value) and 1 <= value <= 1000:
            return value
        self.add_error(f"`{key}` must be a whole number from 1 to 1000, not {_format_value(value)}", key)
        return default

    def read_table(self, key: str) -> PolicyTable | None:
        """Reads the table under a key; None when there is none."""
        value = self.value.get(key)
        if key not in self.value:
            return None
        if isinstance(value, dict):
            return PolicyTable(value, (*self.path, key), self.findings)
        self.add_error(f"`{key}` must be a table, not {_format_value(value)}", key)
        return None

    def read_tables(self, key: str) -> list[PolicyTable]:
        """Reads the tables of a list: `[[rules]]`."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            self.add_error(f"`{key}` must be a list of tables: write [[{key}]]", key)
            return []
        found = []
        for number, item in enumerate(value):
            if isinstance(item, dict):
                found.append(PolicyTable(item, (*self.path, key, number), self.findings))
            else:
                self.add_error(f"an entry of `{key}` must be a table, not {_format_value(item)}", key, number)
        return found

    def _make_item_path(self, key: str, number: int) -> tuple[str | int, ...]:
        return (key, number) if isinstance(self.value[key], list) else (key,)


def _format_value(value: object) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:59] + "…"
