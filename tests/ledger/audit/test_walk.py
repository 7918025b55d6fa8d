"""One pass over a ledger's rows: news at any time, news that is none, and rows of odd bytes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths
from tests.ledger.audit.build import (
    Story,
    list_public_keys,
    make_full_story,
    make_mark,
    make_payload,
    write_story,
)
from tests.ledger.audit.verdicts import verify_story


def test_news_may_come_at_any_time(paths: LedgerPaths) -> None:
    """Before the first row, after the last, and where a crash left nothing else; the call's end stays its end."""
    story = Story()
    story.news("inv_000001", "progress", sequence=1)
    call = story.read()
    assert call == "inv_000001"
    story.news(call, "cancel_requested", by="ada")
    story.news("inv_crashed", "progress", sequence=1)
    acting = story.begin()
    story.news(acting, "cancel_requested", by="ada")
    story.end(acting)
    story.news(acting, "late_result", payload=make_payload("too late"))
    assert verify_story(paths, story).findings == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "gossip"}, "is news of 'gossip', which does not exist"),
        ({"call": ""}, "is a row of kind `news` but names no call"),
        ({"mark": make_mark("running")}, "is news, which moves nothing, but has a mark"),
        ({"body": {"not": "news"}}, "cannot be understood"),
    ],
)
def test_news_that_is_none_is_found(paths: LedgerPaths, change: dict[str, Any], message: str) -> None:
    story = Story()
    story.news(story.read(), "progress", sequence=1)
    for name, value in change.items():
        setattr(story.entries[-1], name, value)
    assert message in verify_story(paths, story).findings[0].message


def test_a_row_of_odd_bytes_is_a_finding(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET body = x'c1', mark = x'c1', call = cast(x'ff' as text) WHERE seq = 5")
    assert verify_ledger(paths.ledger, list_public_keys(paths)).finding_count
