"""Whoever is refused learns nothing; the log tells why, and nobody floods it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ferrule.access.keys import Access
from ferrule.model.approval import CALL
from ferrule.model.serving import ServeSettings
from ferrule.servers.auth.refusals import RefusalLog
from tests.driven import driven
from tests.servers.local_server import running_server


def test_a_reason_is_told_once_a_minute_and_not_too_many_are(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    told = RefusalLog(lambda: now[0])
    for _ in range(3):
        told.report("the key abc, which was revoked", "invalid_token")
    assert caplog.text.count("abc") == 1
    now[0] = 61.0
    told.report("the key abc, which was revoked", "invalid_token")
    assert caplog.text.count("abc") == 2
    for number in range(1000):
        told.report(f"a Host {number}", "wrong_host")
    assert len(caplog.records) <= 66
    assert caplog.text.count("more, for other reasons (wrong_host)") == 1


def test_whoever_thinks_of_many_reasons_leaves_room_for_other_kinds(caplog: pytest.LogCaptureFixture) -> None:
    told = RefusalLog(lambda: 0.0)
    for number in range(1000):
        told.report(f"a Host {number}", "wrong_host")
    told.report("the key abc, which was revoked", "invalid_token")
    assert "the key abc" in caplog.text


def test_no_reason_begins_a_line_or_reaches_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    RefusalLog().report("x\n2026-01-01 WARNING refused: \x1b[31m\x9b\u2028\u202e\udce9", "wrong_host")
    assert caplog.messages == [
        r"refused: x\n2026-01-01 WARNING refused: \x1b[31m\x9b\u2028\u202e\udce9 (told once a minute)"
    ]


@driven
async def test_the_log_tells_why_a_key_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_server(tmp_path, settings=ServeSettings()) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        token, secret = access.add(owner, "bob", [CALL])
        changed, newer = access.add(owner, "eve", [CALL])

        async def refused(bearer: str) -> None:
            reply = await stand.ask("POST", "/mcp", b"{}", {"Authorization": f"Bearer {bearer}"})
            assert reply.status == 401
            assert reply.json()["error"]["message"] == "the credential is not valid here"

        with caplog.at_level(logging.WARNING, "ferrule.serve"):
            access.revoke(owner, token.id)
            await refused(secret)
            assert f"the key {token.id} of bob, which was revoked" in caplog.text
            await refused(newer[:-3] + "xyz")
            assert f"the key {changed.id} of eve, by a secret that is not its own" in caplog.text
            await refused("frl_0000_nothing")
            assert "a credential that is no key of this workspace" in caplog.text
        assert secret not in caplog.text and newer not in caplog.text
