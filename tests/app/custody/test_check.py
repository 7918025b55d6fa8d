"""The promise: whoever can write the ledger's file, but has neither key nor witness, is found out."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.paths import LedgerPaths
from ferrule.app.custody.prune import prune
from ferrule.errors import LedgerError
from tests.ledger.audit.build import MINUTE, START, Story, list_public_keys, make_full_story, make_paths, write_story
from tests.ledger.audit.tamper import flip_visible_byte, logical_content, tamper

SEED = 20260131


class Sound(NamedTuple):
    """A sound ledger, as bytes to tamper with."""

    paths: LedgerPaths
    keys: tuple[bytes, ...]
    data: bytes
    older: tuple[bytes, ...]
    """The same ledger at earlier moments, each sound in itself."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """A ledger of all kinds of rows, with an erasure and a pruning in it."""
    paths = make_paths(tmp_path_factory.mktemp("sound"))
    story = make_full_story()
    older = []
    for start in range(0, len(story.entries), 60):
        part = Story()
        part.entries = story.entries[start : start + 60]
        write_story(paths, part)
        older.append(whole_file(paths.ledger))
    erase_call(paths, "inv_000020", reason="asked to", by="ada")
    prune(paths, before=START + 12 * MINUTE, by="ada")
    return Sound(paths, list_public_keys(paths), whole_file(paths.ledger), tuple(older))


def whole_file(path: Path) -> bytes:
    """The ledger as one file without a log."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


def findings(file: Path, sound: Sound, witness: Path | None = None) -> list[str]:
    """What is found; a file that is refused counts as found out."""
    try:
        verdict = verify_ledger(file, sound.keys, witness=witness)
    except LedgerError as error:
        return [str(error)]
    return [finding.message for finding in verdict.findings]


def test_a_sound_ledger_is_found_sound(sound: Sound, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    for data in (sound.data, *sound.older):
        file.write_bytes(data)
        assert findings(file, sound) == []


@pytest.mark.parametrize("part", range(4))
def test_random_edits_deletions_swaps_insertions_and_cuts_are_all_found(
    sound: Sound, part: int, tmp_path: Path
) -> None:
    """850 of the 1,000 tamperings: through SQL, in every table and column."""
    rng = random.Random(SEED + part)
    file = tmp_path / "ledger.db"
    missed = []
    for _ in range(213):
        file.write_bytes(sound.data)
        done = tamper(file, rng)
        if not findings(file, sound):
            missed.append(done)
    assert missed == []


def test_flipped_bits_that_a_reader_can_see_are_all_found(sound: Sound, tmp_path: Path) -> None:
    """100 of the 1,000 tamperings: in the file's bytes."""
    rng = random.Random(SEED)
    file = tmp_path / "ledger.db"
    file.write_bytes(sound.data)
    content = logical_content(file)
    missed = []
    for _ in range(100):
        done = flip_visible_byte(file, sound.data, rng, content)
        if not findings(file, sound):
            missed.append(done)
    assert missed == []


def test_a_file_put_back_whole_is_found_with_the_witness_and_only_with_it(sound: Sound, tmp_path: Path) -> None:
    """50 of the 1,000 tamperings: an earlier, sound state, as it was or with something done to it."""
    rng = random.Random(SEED)
    file = tmp_path / "ledger.db"
    for number in range(50):
        file.write_bytes(sound.older[number % len(sound.older)])
        if number >= len(sound.older):
            tamper(file, rng)
        else:
            assert findings(file, sound) == []
        assert findings(file, sound, sound.paths.witness)


def test_a_ledger_of_ones_own_in_its_place_is_found_with_the_key(sound: Sound, tmp_path: Path) -> None:
    mine = make_paths(tmp_path / "mine")
    write_story(mine, make_full_story(1))
    assert any("not signed with the ledger's key" in text for text in findings(mine.ledger, sound))


@pytest.mark.parametrize("length", [0, 1, 99, 100, 4096, 8192, 20_000, 100_000])
def test_a_file_cut_short_is_never_a_traceback(sound: Sound, length: int, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    file.write_bytes(sound.data[:length])
    assert findings(file, sound)


def test_noise_in_the_place_of_pages_is_never_a_traceback(sound: Sound, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    file = tmp_path / "ledger.db"
    for _ in range(60):
        data = bytearray(sound.data)
        start, length = rng.randrange(len(data)), rng.choice([4, 100, 4096, 20_000])
        data[start : start + length] = rng.randbytes(min(length, len(data) - start))
        file.write_bytes(data)
        if logical_content(file) is None:
            assert findings(file, sound)
        else:
            findings(file, sound)
