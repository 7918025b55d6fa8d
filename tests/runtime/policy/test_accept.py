"""An accepted suggestion becomes a rule of the workspace, and nothing that stood in the file is lost."""

from __future__ import annotations

import threading
import tomllib
from pathlib import Path

import pytest

from ferrule.errors import PolicyError
from ferrule.runtime.policy.accept import accept_suggestion
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.load import LOCAL_FILE, load_policy
from tests.runtime.policy.samples import decide, rule, write

UPDATE = {
    "kind": "add_rule",
    "destination": "local_settings",
    "rule": {"id": "allow-refund", "decision": "allow", "tool": "refund"},
}


def test_at_136_an_accepted_suggestion_allows_from_then_on(tmp_path: Path) -> None:
    """AT-136: it asks until the owner accepts; then the decision names the rule and its source."""
    before = decide(make_engine(load_policy(tmp_path, {}, {})))
    assert before.behavior == "ask"
    rule_id = accept_suggestion(tmp_path / LOCAL_FILE, before.suggested_updates[0], "ada", "2026-01-31T12:00:00Z")
    after = decide(make_engine(load_policy(tmp_path, {}, {})))
    assert (after.behavior, after.rule_refs, after.source) == ("allow", (rule_id,), "local_settings")
    text = (tmp_path / LOCAL_FILE).read_text(encoding="utf-8")
    assert "# Accepted by ada at 2026-01-31T12:00:00Z." in text


def test_what_stands_in_the_file_stays(tmp_path: Path) -> None:
    path = write(tmp_path, LOCAL_FILE, "# mine\n" + rule("deny", tool="x", id="allow-refund"))
    odd = {**UPDATE, "rule": {**UPDATE["rule"], "command": ['say "hi"\n\x7f']}}  # type: ignore[dict-item]  # a rule
    assert accept_suggestion(path, odd, "ada\n[[rules]]", "now") == "allow-refund-2"
    assert accept_suggestion(path, UPDATE, "bob", "now") == "allow-refund-3"
    read = tomllib.loads(path.read_text(encoding="utf-8"))["rules"]
    assert [each["id"] for each in read] == ["allow-refund", "allow-refund-2", "allow-refund-3"]
    assert read[1]["command"] == ['say "hi"\n\x7f']
    assert path.read_text(encoding="utf-8").startswith("# mine\n")


def test_nothing_is_added_to_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    path = write(tmp_path, LOCAL_FILE, "mode = 3\n")
    with pytest.raises(PolicyError):
        accept_suggestion(path, UPDATE, "ada", "now")
    assert path.read_text(encoding="utf-8") == "mode = 3\n"
    for update in ({}, {**UPDATE, "kind": "change_mode"}, {**UPDATE, "destination": "policy_settings"}):
        with pytest.raises(PolicyError, match="nothing to accept"):
            accept_suggestion(tmp_path / "new.toml", update, "ada", "now")
    bad = {**UPDATE, "rule": {"decision": "maybe"}}
    with pytest.raises(PolicyError):
        accept_suggestion(tmp_path / "new.toml", bad, "ada", "now")
    assert not (tmp_path / "new.toml").exists()


def test_acceptances_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / LOCAL_FILE
    threads = [threading.Thread(target=accept_suggestion, args=(path, UPDATE, f"p{n}", "now")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(tomllib.loads(path.read_text(encoding="utf-8"))["rules"]) == 8
