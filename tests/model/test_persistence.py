"""A decision about a result's bytes becomes the standard's record, and settings with impossible limits are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.persistence import Persistence, RedactionSettings, ResultSettings, persistence_id


def test_a_record_names_its_call_and_its_result() -> None:
    kept = Persistence(strategy="inline", created_at=1, threshold={"chars": 5}, original_size_bytes=3)
    assert kept.to_record("inv_1", 2) == {
        "schema_version": "0.2.0",
        "decision_id": "per_1.2",
        "invocation_id": "inv_1",
        "result_id": "res_1",
        "strategy": "inline",
        "created_at": "1970-01-01T00:00:00.000001Z",
        "threshold": {"chars": 5},
        "original_size_bytes": 3,
        "preview_size_bytes": 0,
        "redaction_state": "none",
    }


def test_where_it_was_put_and_why_are_said_where_they_are_known() -> None:
    ref = {"uri": "ferrule://payload/1", "size": 5}
    record = Persistence(strategy="ref_only", created_at=1, persisted_ref=ref, reason="large").to_record("inv_1")
    assert (record["persisted_ref"], record["reason"]) == (ref, "large")


def test_only_the_beginning_of_an_id_is_exchanged() -> None:
    assert persistence_id("inv_inv_1") == "per_inv_1.0"


@pytest.mark.parametrize(
    "written",
    [{"max_inline_chars": 0}, {"preview_chars": -1}, {"expires_seconds": 0}, {"store": "s3"}, {"max_inline": 5}],
    ids=str,
)
def test_impossible_settings_of_results_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, ResultSettings)


def test_results_may_be_kept_for_ever_and_shown_without_a_preview() -> None:
    settings = msgspec.convert({"preview_chars": 0, "expires_seconds": None}, ResultSettings)
    assert (settings.preview_chars, settings.expires_seconds) == (0, None)


def test_a_pattern_needs_its_name() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"patterns": [{"pattern": "x+"}]}, RedactionSettings)
