"""Exports: files of JSON lines that prove themselves."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from ferrule.app.custody.check import verify_file
from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.exports import export_calls, export_rows
from ferrule.app.custody.paths import LedgerPaths
from ferrule.app.custody.prune import prune
from ferrule.errors import LedgerError
from tests.ledger.audit.build import MINUTE, START, list_public_keys, make_full_story, make_paths, write_story


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """A ledger with an erasure in it."""
    paths = make_paths(tmp_path / "ledger")
    write_story(paths, make_full_story(3))
    erase_call(paths, "inv_000003", reason="asked to", by="ada")
    return paths


def topics(file: Path, paths: LedgerPaths) -> list[str]:
    return [finding.topic for finding in verify_file(file, list_public_keys(paths)).findings]


@pytest.mark.parametrize("has_payloads", [False, True])
@pytest.mark.parametrize(("first", "last"), [(1, None), (1, 40), (40, None), (40, 60), (50, 50)])
def test_every_part_verifies_by_itself(
    paths: LedgerPaths, tmp_path: Path, has_payloads: bool, first: int, last: int | None
) -> None:
    file = tmp_path / "export.jsonl"
    count = export_rows(paths, file, first=first, last=last, has_payloads=has_payloads)
    verdict = verify_file(file, list_public_keys(paths))
    assert (verdict.findings, verdict.rows, verdict.first_seq) == ((), count, first)
    assert (
        b"hello" in b"".join(msgspec.json.decode(line).get("payload", "").encode() for line in lines(file))
    ) is False
    assert (b'"payload"' in file.read_bytes()) is has_payloads


def lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def test_a_pruned_ledger_is_exported_whole(paths: LedgerPaths, tmp_path: Path) -> None:
    prune(paths, before=START + 20 * MINUTE, by="ada")
    export_rows(paths, tmp_path / "export.jsonl", has_payloads=True)
    verdict = verify_file(tmp_path / "export.jsonl", list_public_keys(paths))
    assert (verdict.findings, verdict.first_seq) == ((), 21)


def test_without_the_private_key_a_whole_export_rests_on_the_head(paths: LedgerPaths, tmp_path: Path) -> None:
    key = list_public_keys(paths)
    paths.key.unlink()
    export_rows(paths, tmp_path / "export.jsonl")
    assert verify_file(tmp_path / "export.jsonl", key).findings == ()
    with pytest.raises(LedgerError, match="needs the ledger's key"):
        export_rows(paths, tmp_path / "part.jsonl", last=40)
    assert not (tmp_path / "part.jsonl").exists()


@pytest.mark.parametrize("last", [None, 60])
@pytest.mark.parametrize("is_sealed", [True, False])
def test_every_random_change_of_an_export_is_found(
    paths: LedgerPaths, tmp_path: Path, last: int | None, is_sealed: bool
) -> None:
    key = list_public_keys(paths)
    if not is_sealed and last is None:
        paths.key.unlink()
    file = tmp_path / "export.jsonl"
    export_rows(paths, file, last=last, has_payloads=True)
    whole, rng = lines(file), random.Random(7)
    for _ in range(60):
        changed = _tamper(list(whole), rng)
        file.write_bytes(b"".join(changed))
        with suppress(LedgerError):  # its first line is broken: that is found out too
            assert verify_file(file, key).findings, changed


def _tamper(text: list[bytes], rng: random.Random) -> list[bytes]:
    place = rng.randrange(1, len(text) - 1)
    match rng.randrange(5):
        case 0:
            del text[place]
        case 1:
            other = rng.choice([number for number in range(1, len(text) - 1) if number != place])
            text[place], text[other] = text[other], text[place]
        case 2:
            text.insert(place, text[place])
        case 3:
            del text[rng.randrange(2, len(text)) :]
        case _:
            record = msgspec.json.decode(text[place])
            name = rng.choice(["call", "at_us", "tool", "outcome", "body", "hash", "seq", "mark"])
            old = record[name]
            record[name] = old + 1 if isinstance(old, int) else "QUJD" if old != "QUJD" else ""
            text[place] = msgspec.json.encode(record) + b"\n"
    return text


def test_an_export_says_what_it_cannot_show(paths: LedgerPaths, tmp_path: Path) -> None:
    export_rows(paths, tmp_path / "part.jsonl", first=30, last=60)
    notes = verify_file(tmp_path / "part.jsonl", list_public_keys(paths)).notes
    assert [note.split(":")[0].split(";")[0] for note in notes] == [
        "an export holds rows alone",
        "it begins at row 30",
        "its payloads were left out",
    ]


def test_an_export_signed_by_somebody_else_is_found(paths: LedgerPaths, tmp_path: Path) -> None:
    other = make_paths(tmp_path / "other")
    write_story(other, make_full_story(1))
    export_rows(other, tmp_path / "export.jsonl")
    assert topics(tmp_path / "export.jsonl", paths) == ["head", "head"]


@pytest.mark.parametrize("text", [b"", b"hello\n", b'{"ferrule_export": 1}\n', b"\xff\xfe\n"])
def test_what_is_no_export_is_refused_in_words(text: bytes, paths: LedgerPaths, tmp_path: Path) -> None:
    (tmp_path / "export.jsonl").write_bytes(text)
    with pytest.raises(LedgerError, match="is no export of a ledger"):
        verify_file(tmp_path / "export.jsonl", list_public_keys(paths))


def test_calls_are_exported_as_records_in_the_order_they_ended(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    count = export_calls(paths, file)
    records = [msgspec.json.decode(line) for line in lines(file)]
    assert len(records) == count == len({record["invocation_id"] for record in records})
    assert {"succeeded", "denied", "failed", "awaiting_approval", "running"} <= {record["status"] for record in records}
    erased = next(record for record in records if record["invocation_id"] == "inv_000003")
    assert "model_input" not in erased
    assert erased["model_input_ref"].endswith(":erased")


@pytest.mark.parametrize("change", ["body = x'c1'", "kind = 99"])
def test_a_ledger_that_cannot_be_understood_is_not_exported_by_half(
    change: str, paths: LedgerPaths, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute(f"UPDATE journal SET {change} WHERE seq = 20")
    with pytest.raises(LedgerError, match="is damaged"):
        export_calls(paths, tmp_path / "calls.jsonl")
    if "kind" in change:
        with pytest.raises(LedgerError, match="is damaged"):
            export_rows(paths, tmp_path / "rows.jsonl")
    assert not list(tmp_path.glob("*.jsonl"))


def test_records_of_calls_have_their_news(paths: LedgerPaths, tmp_path: Path) -> None:
    """AT-206: who asked to stop is on record, also when it was too late. A call that left nothing but news has no record."""
    export_calls(paths, tmp_path / "calls.jsonl")
    records = [msgspec.json.decode(line) for line in lines(tmp_path / "calls.jsonl")]
    assert "inv_without_rows" not in {record["invocation_id"] for record in records}
    told = [record for record in records if "cancellation" in record]
    assert len(told) == 3
    for record in told:
        assert [one["sequence"] for one in record["progress"]] == [1]
        assert (record["cancellation"]["outcome"], record["cancellation"]["why"]) == ("cancel_failed", "too_late")
        assert record["late_results"][0]["content"][0]["text"] == "too late"
