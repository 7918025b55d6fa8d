"""Writes an accepted suggestion into the workspace's own rules (AT-136). Nothing else in this package writes a file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ferrule.errors import PolicyError
from ferrule.infra import toml_values
from ferrule.runtime.policy.load import refuse_errors
from ferrule.runtime.policy.read import read_text

ADD_RULE = "add_rule"
_HEADER = """\
# Rules accepted in this workspace, kept by `ferrule`. They count as `local_settings`:
# an ask or deny of any other source, and what a definition requires, is stronger.
"""


def accept_suggestion(path: Path, update: Mapping[str, object], by: str, at: str) -> str:
    """Adds a suggested rule to `.ferrule/policy.local.toml` and returns its id. The file is replaced whole or not at
    all.

    `update` is one of a ruling's `suggested_updates`, `by` the person who accepts, `at` the time as text. Raises
    PolicyError when the update is none, or the file as it stands cannot be used.
    """
    rule = update.get("rule")
    if update.get("kind") != ADD_RULE or update.get("destination") != "local_settings" or not isinstance(rule, dict):
        raise PolicyError("this suggestion adds no rule to local_settings, so there is nothing to accept")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(path):
        before = path.read_text(encoding="utf-8-sig") if path.exists() else _HEADER
        taken = _read_ids(before, path)
        rule_id = _pick_free_id(str(rule.get("id") or "accepted"), taken)
        heading = f"# Accepted by {_join_lines(by)} at {_join_lines(at)}."
        text = f"{before.rstrip()}\n\n{heading}\n{_format_rule({**rule, 'id': rule_id})}"
        # Before it is written: a file with a mistake would end every call.
        _read_ids(text, path)
        _write_atomically(path, text)
    return rule_id


def _read_ids(text: str, path: Path) -> set[str]:
    read = read_text(text, "local_settings", path.name)
    refuse_errors([read])
    return {rule.rule_id for rule in read.file.rules}


def _pick_free_id(wanted: str, taken: set[str]) -> str:
    names = (wanted, *(f"{wanted}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _format_rule(rule: Mapping[str, object]) -> str:
    keys = ["id", *(key for key in rule if key != "id")]
    return "[[rules]]\n" + "".join(f"{toml_values.key(key)} = {toml_values.value(rule[key])}\n" for key in keys)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Locks the file, so that two acceptances at once do not overwrite one another."""
    # A file of its own, because the file of rules is replaced, and its lock would go with it.
    with open(path.with_suffix(".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_atomically(path: Path, text: str) -> None:
    # Write, sync and rename, so that a crash leaves either the old rules or the new ones.
    fresh = path.with_suffix(".new")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
