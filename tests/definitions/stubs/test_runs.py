"""What was generated into a folder is written down so that two people can merge it, and read back exactly."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.runs import (
    FileNote,
    StubRecord,
    StubRequest,
    StubRun,
    ToolNames,
    decode_record,
    encode_record,
    hash_text,
    normalize_line_ends,
)
from ferrule.errors import WorkspaceError

GO = StubRun(
    wish=StubRequest(language="go", tools=("shop.*",), agent="clerk"),
    files={
        "b.go": FileNote(standing="generated", sha256="ab", tool="shop.b"),
        "a.go": FileNote(standing="yours", contract="12345678"),
        "old.go": FileNote(standing="generated", is_orphan=True),
    },
    names={"shop.b": ToolNames("b", "B")},
    pending={"c.go": "cd"},
)
RUST = StubRun(wish=StubRequest(language="rust", kind="client"))
RECORD = StubRecord().with_run(RUST).with_run(GO)


def test_a_record_is_read_as_it_was_written() -> None:
    assert decode_record(encode_record(RECORD), "x") == RECORD
    assert decode_record(None, "x") == StubRecord()


def test_each_fact_has_a_line_and_all_are_sorted() -> None:
    lines = encode_record(RECORD).decode().splitlines()
    files = [line.split('"')[1] for line in lines if line.startswith('    "') and line.endswith("{")]
    assert [name for name in files if name.endswith(".go")] == ["a.go", "b.go", "old.go"]
    assert encode_record(StubRecord().with_run(GO).with_run(RUST)) == encode_record(RECORD)


def test_a_run_takes_the_place_of_the_one_before() -> None:
    again = RECORD.with_run(StubRun(wish=GO.wish))
    assert list(again.runs) == ["go/implementation", "rust/client"]
    assert again.runs["go/implementation"].files == {}


def test_files_of_other_runs_are_known_but_for_orphans() -> None:
    assert RECORD.others("rust/client") == {path: ("go/implementation", GO.files[path]) for path in ("b.go", "a.go")}
    assert RECORD.others("go/implementation") == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"{", "take it from version control"), (b"\xff", "cannot be read"), (b'{"format": 9, "runs": {}}', "format 9")],
)
def test_what_is_no_record_of_ours_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(WorkspaceError, match=words):
        decode_record(data, "the record")


def test_line_ends_of_a_checkout_do_not_change_a_digest() -> None:
    assert hash_text(b"a\r\nb\r\n") == hash_text(b"a\nb\n") != hash_text(b"a\nb")
    assert normalize_line_ends(b"a\rb\r\n") == b"a\rb\n"
