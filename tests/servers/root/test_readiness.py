"""`/health` and `/ready`: what whoever balances load is told, and what nobody can do there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.access.keys import KEYS_FOLDER, OWNER_FILE, TOKENS_FILE
from ferrule.infra.private_files import replace_private
from ferrule.model.serving import JwtSettings, OxpSettings, ServeSettings
from tests.driven import driven
from tests.servers.local_server import InProcessServer, running_server


async def ready(stand: InProcessServer) -> tuple[int, str]:
    """The status, and the reason where there is one."""
    reply = await stand.ask("GET", "/ready")
    return reply.status, reply.json().get("reason", "")


@driven
async def test_a_process_is_not_ready_while_its_keys_are_damaged(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        headers = {"Authorization": f"Bearer {stand.read_token()}"}
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
        ServeSettings(oxp=OxpSettings(auth=("jwt",), jwt_secret_env="PATH")),
        ServeSettings(oxp=OxpSettings(auth=("none",))),
    ],
)
async def test_damaged_keys_do_not_matter_where_callers_come_without(tmp_path: Path, settings: ServeSettings) -> None:
    async with running_server(tmp_path, settings=settings) as stand:
        stand.read_token()
        file = tmp_path / KEYS_FOLDER / TOKENS_FILE
        file.write_text("{")
        assert await ready(stand) == (200, "")
        file.unlink()
        assert await ready(stand) == (200, "")


@driven
async def test_no_request_makes_keys(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        token, folder = stand.read_token(), tmp_path / KEYS_FOLDER
        whole, owner = (folder / TOKENS_FILE).read_bytes(), (folder / OWNER_FILE).read_bytes()
        for bearer in (token, "anything"):
            (folder / TOKENS_FILE).unlink(missing_ok=True)
            for path in ("/v1/tools", "/oxp/tools"):
                reply = await stand.ask("GET", path, headers={"Authorization": f"Bearer {bearer}"})
                assert reply.status == 503
        assert await ready(stand) == (503, "the keys cannot be read")
        assert not (folder / TOKENS_FILE).exists() and (folder / OWNER_FILE).read_bytes() == owner
        assert f"{TOKENS_FILE} is not there" in caplog.text
        replace_private(folder / TOKENS_FILE, whole)
        assert await ready(stand) == (200, "")
        headers = {"Authorization": f"Bearer {token}"}
        assert (await stand.ask("GET", "/v1/tools", headers=headers)).status == 200


@driven
@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_other_methods_are_refused_as_everywhere(tmp_path: Path, path: str) -> None:
    async with running_server(tmp_path) as stand:
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
