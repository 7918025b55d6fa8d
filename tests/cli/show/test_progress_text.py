"""Progress in words: one line a record, whatever a tool says."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.cli.show.progress_text import progress_line, size
from ferrule.model.progress import Progress, ProgressStatus

_count = st.none() | st.integers(0, 2**62)
_text = st.text(max_size=60)
_content = st.none() | st.lists(
    st.none() | _text | st.dictionaries(st.sampled_from(["type", "text"]), _text | st.none())
)


@given(
    st.builds(
        Progress,
        invocation_id=st.just("inv_1"),
        sequence=st.integers(1, 10**9),
        status=st.sampled_from(get_args(ProgressStatus)),
        timestamp=st.just(0),
        message=_text,
        percent=st.none() | st.floats(0, 100),
        current_step=st.none() | _text,
        total_steps=_count,
        elapsed_ms=_count,
        bytes_read=_count,
        line_count=_count,
        extra=st.fixed_dictionaries({"content": _content, "stdout_bytes": _count | _text}),
    )
)
def test_any_record_is_one_line_that_plays_no_tricks(said: Progress) -> None:
    line = progress_line(said)
    assert line.splitlines() in ([line], [])
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1500, "1.5 kB"), (20_000_000, "20 MB"), (3 * 10**12, "3 TB")],
)
def test_bytes_for_people(count: int, words: str) -> None:
    assert size(count) == words
