"""`ferrule audit`: what people type, what they see, and the exit codes that scripts go by."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import make_key, trust
from tests.cli.run import ferrule
from tests.ledger.audit.build import CANARY, Story, make_full_story, write_story


@pytest.fixture
def paths(workspace: Path) -> LedgerPaths:
    """The ledger of a workspace, with rows of every kind and a witness in the settings."""
    root = workspace / ".ferrule"
    paths = LedgerPaths(
        root / "ledger.db", root / "keys/ledger.key", root / "keys/ledger.pub", workspace.parent / "witness.jsonl"
    )
    trust(paths.public, make_key(paths.key))
    write_story(paths, make_full_story(2))
    return paths


@pytest.fixture
def root(workspace: Path) -> Path:
    """The workspace, its settings naming the witness."""
    settings = workspace / "ferrule.toml"
    settings.write_text(settings.read_text() + '\n[ledger]\nwitness = "../witness.jsonl"\n')
    return workspace


def change(paths: LedgerPaths, statement: str) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute(statement)


def test_a_sound_ledger_exits_with_0(root: Path, paths: LedgerPaths) -> None:
    ran = ferrule("audit", "verify", folder=root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("note: the witness vouches for the rows up to ")
    assert ": nothing wrong in " in ran.out


def test_a_finding_names_row_and_call_and_exits_with_1(root: Path, paths: LedgerPaths) -> None:
    change(paths, "UPDATE journal SET outcome = 'failed' WHERE call = 'inv_000001'")
    ran = ferrule("audit", "verify", folder=root)
    assert ran.code == 1
    assert "hash: row 5: is not what was written, or does not follow the row before [inv_000001]\n" in ran.out
    report = json.loads(ferrule("audit", "verify", "--json", folder=root).out)
    assert (report["is_clean"], report["findings"][0]["seq"], report["findings"][0]["call"]) == (False, 5, "inv_000001")


def test_without_a_witness_it_says_so(workspace: Path, paths: LedgerPaths) -> None:
    ran = ferrule("audit", "verify", folder=workspace)
    assert ran.code == 0
    assert "note: no witness was given: a ledger that was put back whole" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ledger", "nothing.db"], "there is no ledger nothing.db"),
        (["--ledger", "ferrule.toml"], "ferrule.toml is no ledger"),
        (["--ledger", "tools"], "tools is no ledger"),
        (["--key", "nothing.pub"], "there is no key file 'nothing.pub'"),
        (["--key", "ferrule.toml"], "is no public key; a line reads"),
        (["--witness", "nothing"], "the witness nothing cannot be read"),
        (["--file", "nothing"], "the export nothing cannot be read"),
        (["--file", "ferrule.toml"], "ferrule.toml is no export of a ledger"),
        (["--file", ".ferrule/ledger.db"], "ledger.db is no export of a ledger"),
    ],
)
def test_what_cannot_be_checked_exits_with_2(
    root: Path, paths: LedgerPaths, arguments: list[str], message: str
) -> None:
    ran = ferrule("audit", "verify", *arguments, folder=root)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_without_a_key_it_does_not_pretend(root: Path, paths: LedgerPaths) -> None:
    paths.key.unlink()
    paths.public.unlink()
    ran = ferrule("audit", "verify", folder=root)
    assert ran.code == 2
    assert "there is no key to check with" in ran.err


def test_an_export_is_verified_far_from_its_workspace(root: Path, paths: LedgerPaths, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    file = away / "rows.jsonl"
    assert ferrule("audit", "export", "-o", str(file), folder=root).out.startswith("wrote ")
    ran = ferrule("audit", "verify", "--file", "rows.jsonl", folder=away)
    assert ran.code == 0, ran
    assert "anybody could have put there; name yours with --key" in ran.out
    ran = ferrule("audit", "verify", "--file", "rows.jsonl", "--key", str(paths.public), folder=away)
    assert (ran.code, "anybody" in ran.out) == (0, False)
    file.write_bytes(file.read_bytes().replace(b'"outcome":"denied"', b'"outcome":"failed"', 1))
    assert ferrule("audit", "verify", "--file", "rows.jsonl", folder=away).code == 1


def test_calls_are_exported_for_reading(root: Path, paths: LedgerPaths) -> None:
    ran = ferrule("audit", "export", "--calls", "--from", "5", "--to", "5", "-o", "calls.jsonl", folder=root)
    assert ran.out == "wrote 1 calls to calls.jsonl\n"
    record = json.loads((root / "calls.jsonl").read_text())
    assert (record["invocation_id"], record["model_input"]) == ("inv_000001", {"text": "hello"})


def test_erase_removes_the_bytes_and_the_ledger_stays_sound(root: Path, paths: LedgerPaths) -> None:
    story = Story(calls_before=1000)
    call = story.read("carla", text=CANARY)
    write_story(paths, story)
    ran = ferrule("audit", "erase", "--call", call, "--reason", "asked to", folder=root)
    assert (ran.code, ran.out) == (0, "erased 1 payloads of 1 call\n"), ran
    assert not [file for file in root.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]
    assert ferrule("audit", "verify", folder=root).code == 0
    again = ferrule("audit", "erase", "--principal", "carla", "--reason", "asked to", folder=root)
    assert (again.code, again.out) == (0, "there was nothing left to erase\n")


def test_erase_wants_to_know_what_and_why(root: Path, paths: LedgerPaths) -> None:
    for arguments in ([], ["--call", "a", "--principal", "b"]):
        ran = ferrule("audit", "erase", *arguments, "--reason", "x", folder=root)
        assert (ran.code, "either --call ID or --principal NAME" in ran.err) == (2, True)
    assert ferrule("audit", "erase", "--call", "a", folder=root).code == 2
    ran = ferrule("audit", "erase", "--principal", "a", "--before", "soon", "--reason", "x", folder=root)
    assert "--before takes a date or time such as 2026-01-31" in ran.err


def test_open_calls_are_left_and_told(root: Path, paths: LedgerPaths) -> None:
    ran = ferrule("audit", "erase", "--principal", "alice", "--reason", "asked to", folder=root)
    assert ran.code == 1
    assert ran.err.count("has not ended; answer or cancel it, then erase again") == 4


def test_prune_keeps_the_rest_verifiable(root: Path, paths: LedgerPaths) -> None:
    words = ("--before", "2026-01-01T00:20:00Z", "--archive", "old.jsonl", "--keep-payloads")
    ran = ferrule("audit", "prune", *words, folder=root)
    assert (ran.code, ran.out) == (0, "removed 20 rows, up to row 20, kept in old.jsonl\n"), ran
    assert "rows up to 20 were removed by a recorded pruning" in ferrule("audit", "verify", folder=root).out
    assert ferrule("audit", "verify", "--file", "old.jsonl", "--key", str(paths.public), folder=root).code == 0
    assert ferrule("audit", "prune", *words, folder=root).err == (
        "ferrule: old.jsonl exists already; an archive never overwrites anything\n"
    )
    assert ferrule("audit", "prune", "--before", "2026-01-01", "--keep-payloads", folder=root).code == 2


def test_backup_and_restore(root: Path, paths: LedgerPaths) -> None:
    assert ferrule("audit", "backup", "saved.db", folder=root).code == 0
    assert ferrule("audit", "restore", "saved.db", folder=root).out == (
        "the ledger is as the backup has it; nothing was done\n"
    )
    story = Story(calls_before=1000)
    story.read()
    write_story(paths, story)
    refused = ferrule("audit", "restore", "saved.db", folder=root)
    assert refused.code == 2
    assert "1 rows (" in refused.err
    done = ferrule("audit", "restore", "--force-older", "saved.db", folder=root)
    assert done.code == 0, done
    assert "given up: 1 rows from " in done.out
    assert ferrule("audit", "verify", folder=root).code == 0


def test_a_tampered_ledger_is_neither_backed_up_nor_restored(root: Path, paths: LedgerPaths) -> None:
    ferrule("audit", "backup", "saved.db", folder=root)
    change(paths, "DELETE FROM journal WHERE seq = 7")
    ran = ferrule("audit", "backup", "other.db", folder=root)
    assert (ran.code, (root / "other.db").exists()) == (1, False)
    change(paths._replace(ledger=root / "saved.db"), "DELETE FROM journal WHERE seq = 7")
    assert ferrule("audit", "restore", "--force-older", "saved.db", folder=root).code == 1
