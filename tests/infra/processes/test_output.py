"""Captured output: bounded, whole while it is little, and cut between characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.processes.output import Capture
from tests.infra.processes.recording import RecordedOutput


@given(st.lists(st.binary(max_size=40)), st.integers(8, 64))
def test_any_output_is_counted_bounded_and_kept_whole(chunks: list[bytes], most: int) -> None:
    kept = RecordedOutput()
    capture = Capture(most, lambda: kept)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    assert capture.total == len(whole)
    assert capture.line_count == len(whole.split(b"\n")) - (whole.endswith(b"\n") or not whole)
    if capture.is_whole:
        assert capture.text() == whole.decode("utf-8", "replace")
        assert capture.close() is None
    else:
        assert len(capture.text()) <= most + 60
        assert bytes(kept.data) == whole
        assert capture.close() is not None


@given(st.text(min_size=40, max_size=200), st.integers(1, 7))
def test_characters_are_not_cut(text: str, step: int) -> None:
    data = text.encode()
    capture = Capture(20)
    for at in range(0, len(data), step):
        capture.feed(data[at : at + step])
    if "\ufffd" not in text:
        assert "\ufffd" not in capture.text()
