"""The shapes of later drafts, and other places than usual (OXP-49)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ferrule.model.serving import OxpSettings, ServeSettings
from tests.servers.oxp.oxp_server import running_oxp_server
from tests.servers.oxp.request_table import ADD
from tests.servers.oxp.schemas import CALLED, LISTED, fits

COMPAT = ServeSettings(auth=False, oxp=OxpSettings(compat=True))


def test_later_shapes_are_taken_with_a_warning_where_that_is_wanted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-49"""
    with running_oxp_server(tmp_path, COMPAT) as made, caplog.at_level(logging.WARNING):
        reply = made.ask("POST", "/oxp/tools/call", ADD)
        assert reply.status == 200
        body = reply.json()
        assert fits(body, CALLED)
        assert body["value"] == body["result"]["value"] == 3
        assert "without its envelope" in caplog.text
        tools = made.ask("GET", "/oxp/tools").json()
        assert fits(tools, LISTED)
        assert tools["items"] == tools["tools"]
        assert made.ask("POST", "/oxp/tools/call", {**ADD, "$schema": "urn:oxp:1.0"}).status == 200
        assert made.ask("POST", "/oxp/tools/call", {**ADD, "more": 1}).status == 400
        wrapped = made.call(**ADD).json()
        assert set(wrapped) == {"$schema", "result"}


def test_a_server_of_nothing_else_may_be_at_the_root(tmp_path: Path) -> None:
    """OXP-19 to OXP-21: the paths are the protocol's own; everything else stays with the other servers."""
    with running_oxp_server(tmp_path, ServeSettings(auth=False, oxp=OxpSettings(path="/"))) as made:
        assert made.ask("GET", "/health").status == 200
        assert made.ask("GET", "/tools").json()["tools"]
        assert made.ask("POST", "/tools/call", {"request": ADD}).json()["result"]["value"] == 3
        assert made.ask("GET", "/authorizations/made-up").json()["status"] == "failed"
        assert made.ask("PUT", "/tools").status == 405
        assert made.ask("GET", "/oxp/tools").status == 404


def test_a_path_is_taken_as_it_is_meant(tmp_path: Path) -> None:
    """OXP-25"""
    with running_oxp_server(tmp_path, ServeSettings(auth=False, oxp=OxpSettings(path="tools/oxp/"))) as made:
        assert made.ask("GET", "/tools/oxp/tools").status == 200
        assert made.ask("GET", "/tools/oxp").status == 404
