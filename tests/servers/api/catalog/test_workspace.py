"""What is served, told as far as one may know, and how clients connect, without a token."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_what_is_served_is_told_as_far_as_one_may_know(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        whole = (await here.ask("oda", "GET", "/v1/workspace")).json()
        assert (whole["tools"], whole["agents"], whole["url"]) == (7, 0, "http://localhost:8787")
        assert whole["mcp_url"] == "http://localhost:8787/mcp"
        own = (await here.ask("ada", "GET", "/v1/workspace")).json()
        assert (own["tools"] < 7, own["agents"]) == (True, None)
        assert (await here.ask("amy", "GET", "/v1/workspace")).json()["tools"] is None


@driven
async def test_clients_are_told_how_to_connect_and_never_a_token(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who in ("oda", "ada", "oda of acme"):
            reply = await here.ask(who, "GET", "/v1/clients")
            texts = {item["client"]: item["text"] for item in reply.json()["items"]}
            assert "http://localhost:8787/mcp" in texts["cursor"]
            assert ("mcp-stdio" in texts) == (who == "oda")
            assert (str(tmp_path) in reply.body.decode()) == (who == "oda"), "where it lies is not for everybody"
            for secret in [*here.secrets.values(), here.stand.read_token()]:
                assert secret not in reply.body.decode()
