"""`/health` and `/ready`: what whoever balances load is told, and what nobody can do there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.access import KEYS_FOLDER, TOKENS_FILE
from ferrule.model.serving import JwtSettings, ServeSettings
from tests.driven import driven

from .stand import Stand, serving


async def ready(stand: Stand) -> tuple[int, str]:
    """The status, and the reason where there is one."""
    reply = await stand.ask("GET", "/ready")
    return reply.status, reply.json().get("reason", "")


@driven
async def test_a_process_is_not_ready_while_its_keys_are_damaged(tmp_path: Path) -> None:
    async with serving(tmp_path, auth=True) as stand:
        headers = {"Authorization": f"Bearer {stand.token()}"}
        file = tmp_path / KEYS_FOLDER / TOKENS_FILE
        whole = file.read_bytes()
        assert await ready(stand) == (200, "")
        file.write_bytes(whole[:-20])
        assert (await stand.ask("GET", "/v1/tools", headers=headers)).status == 503
        assert await ready(stand) == (503, "the keys cannot be read")
        file.write_bytes(whole)
        assert await ready(stand) == (200, "")
        assert (await stand.ask("GET", "/v1/tools", headers=headers)).status == 200


@driven
@pytest.mark.parametrize(
    "settings",
    [
        ServeSettings(auth=False),
        ServeSettings(public_url="https://t.example.com", jwt=JwtSettings(issuer="https://login.example.com")),
    ],
)
async def test_damaged_keys_do_not_matter_where_callers_come_without(tmp_path: Path, settings: ServeSettings) -> None:
    async with serving(tmp_path, settings=settings) as stand:
        stand.token()
        (tmp_path / KEYS_FOLDER / TOKENS_FILE).write_text("{")
        assert await ready(stand) == (200, "")


@driven
async def test_looking_makes_no_keys(tmp_path: Path) -> None:
    async with serving(tmp_path, auth=True) as stand:
        assert await ready(stand) == (200, "")
        assert not (tmp_path / KEYS_FOLDER / TOKENS_FILE).exists()


@driven
@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_other_methods_are_refused_as_everywhere(tmp_path: Path, path: str) -> None:
    async with serving(tmp_path) as stand:
        assert (await stand.ask("HEAD", path)).status == 200
        for method in ("POST", "PUT", "DELETE", "FOO"):
            here, there = [await stand.ask(method, one) for one in (path, "/v1/openapi.json")]
            assert (
                (here.status, here.headers["allow"])
                == (there.status, there.headers["allow"])
                == (405, "GET, HEAD, OPTIONS")
            )
            assert here.headers["content-type"] == "application/problem+json"
            ids = {"request_id": here.headers["x-request-id"]}
            assert here.json() == {**there.json(), **ids}
        options = await stand.ask("OPTIONS", path)
        assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
