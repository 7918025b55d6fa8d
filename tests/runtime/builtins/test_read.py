"""`read` gives lines of text files, whatever their size, and nothing else."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.builtins.builtin_tools import expect_refusal, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


def test_a_whole_file_comes_as_it_is(tmp_path: Path) -> None:
    """ADL-23: the six fields."""
    (tmp_path / "a.txt").write_bytes("one\r\ntwö\nthree".encode())
    assert run(tmp_path, "read", file_path="a.txt") == {
        "file_path": "a.txt", "offset": 1, "limit": 2000, "lines_read": 3, "total_lines": 3, "content": "one\r\ntwö\nthree",
    }  # fmt: skip


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=8), max_size=12),
    ends=st.booleans(), offset=st.integers(1, 14), limit=st.none() | st.integers(1, 14),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_any_slice_is_what_the_file_has_there(
    folder: Path, lines: list[str], ends: bool, offset: int, limit: int | None
) -> None:
    """ADL-23: slices by line, counted from 1; `max_lines` is the window of a call that does not say."""
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    (folder / "any.txt").write_bytes(text.encode())
    *whole, last = text.split("\n")
    pieces = [f"{piece}\n" for piece in whole] + ([last] if last else [])
    extra: dict[str, Any] = {} if limit is None else {"limit": limit}
    result = run(folder, "read", {"max_lines": 5}, file_path="any.txt", offset=offset, **extra)
    wanted = pieces[offset - 1 : offset - 1 + (limit or 5)]
    assert (result["content"], result["lines_read"], result["total_lines"]) == (
        "".join(wanted),
        len(wanted),
        len(pieces),
    )
    assert "note" not in result


@pytest.mark.parametrize("stated", [0, -1, None])
def test_no_window_means_two_thousand_lines(tmp_path: Path, stated: int | None) -> None:
    """ADL-23"""
    (tmp_path / "long").write_text("x\n" * 2500)
    result = run(tmp_path, "read", {} if stated is None else {"max_lines": stated}, file_path="long")
    assert (result["limit"], result["lines_read"], result["total_lines"]) == (2000, 2000, 2500)


@pytest.mark.parametrize("name", ["a.png", "a.JPG", "a.jpeg", "a.Gif", "a.webp", "a.bmp", "a.tiff"])
def test_images_are_refused_also_behind_a_link(tmp_path: Path, name: str) -> None:
    """ADL-23"""
    (tmp_path / name).write_text("text, really")
    (tmp_path / "link.txt").symlink_to(name)
    for path in (name, "link.txt"):
        with expect_refusal("invalid_arguments", "image_file"):
            run(tmp_path, "read", file_path=path)


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", b"ok\n" * 500_000 + b"\xc3", b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    with expect_refusal("invalid_arguments", "binary_file"):
        run(tmp_path, "read", file_path="a.bin")


def test_letters_across_the_pieces_of_a_large_file_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("€" * 500_000 + "\nlast")  # 1.5 MB: the first piece ends inside a letter
    assert run(tmp_path, "read", file_path="wide", offset=2)["content"] == "last"


def test_a_result_keeps_within_what_a_model_is_shown_and_says_where_to_go_on(tmp_path: Path) -> None:
    """AT-231: never stored again, so it bounds itself; nothing is lost silently."""
    (tmp_path / "wide").write_text("".join(f'{number} "quoted"\n' for number in range(1, 9001)))
    read, seen, offset = "", 0, 1
    while True:
        result = run(tmp_path, "read", file_path="wide", offset=offset, limit=9000)
        assert len(json.dumps(result)) <= 50_000
        read, seen = read + result["content"], seen + 1
        if "note" not in result:
            break
        offset += result["lines_read"]
        assert f"offset {offset}" in result["note"]
    assert read == (tmp_path / "wide").read_text() and seen > 2


def test_one_endless_line_is_cut_and_told(tmp_path: Path) -> None:
    (tmp_path / "line").write_text("é" * 3_000_000)
    result = run(tmp_path, "read", file_path="line")
    assert result["lines_read"] == 1 == result["total_lines"] and "only its beginning" in result["note"]
    assert 10_000 < len(result["content"]) < 50_000


def test_a_huge_file_is_not_held(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        for _ in range(200):
            file.write(b"a line of some length\n" * 50_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run(tmp_path, "read", file_path="huge", offset=9_999_999)
    assert (result["total_lines"], result["lines_read"]) == (10_000_000, 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 * 1024


def test_an_empty_file_and_an_offset_beyond_the_end_are_empty(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    (tmp_path / "one").write_text("one")
    for name, offset, total in (("none", 3, 0), ("none", 1, 0), ("one", 2, 1), ("one", 10**30, 1)):
        result = run(tmp_path, "read", file_path=name, offset=offset, limit=10**30)
        assert (result["content"], result["lines_read"], result["total_lines"]) == ("", 0, total)
        assert result["limit"] == 2**53


def test_a_missing_file_is_the_callers_mistake(tmp_path: Path) -> None:
    with expect_refusal("invalid_arguments", "file_not_found", "nothing.txt"):
        run(tmp_path, "read", file_path="nothing.txt")
