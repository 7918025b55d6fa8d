"""Calls with credentials, from the definition to what the other side sees (AML-58 to AML-72)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.opening import open_app
from ferrule.app.surface import SurfaceHandle
from ferrule.model.result import Result
from ferrule.settings import NetworkSettings, SecretSettings, Settings
from ferrule.testing import FakeClock, memory_app
from tests.infra.clouds.amazon import REGION, Amazon
from tests.infra.clouds.far import Asked, Far, Reply, far
from tests.infra.clouds.fixtures import aws, azure, gcp, in_event_loop
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import Azure
from tests.runtime.builtins.builtin_tools import write_manifest
from tests.runtime.executors.rest.tools import ALLOW, definition

__all__ = ["aws", "azure", "gcp"]

SETTINGS = Settings(network=NetworkSettings(allow=("127.0.0.1",)))


def fine(asked: Asked) -> Reply:
    if "/invocations" in asked.path:
        return Reply(200, {"access_token": "from-the-broker", "expires_in": 3600})
    return Reply(200, {"ok": True}, {"Content-Type": "application/json"})


def tool(server: Far, **credentials: Any) -> dict[str, str]:
    return {"tools/t.tool.md": definition("GET /it", base_url=server.url, tool_id="the-tool", credentials=credentials)}


async def called(surface: SurfaceHandle) -> Result:
    result = await surface.call("the-tool", {})
    assert isinstance(result, Result)
    return result


async def send_and_read_headers(server: Far, env: Mapping[str, str], **credentials: Any) -> dict[str, str]:
    """The headers that the system behind a tool with these credentials got."""
    async with memory_app(
        definitions=tool(server, **credentials), settings=SETTINGS, environment=env, policy=ALLOW
    ) as app:
        result = await called(app.surface())
        assert result.error is None, result.error
    return server.asked[-1].headers


@in_event_loop
async def test_a_key_is_shown_in_its_header() -> None:
    """AML-65, AML-66, AML-67."""
    with far(fine) as server:
        plain = await send_and_read_headers(
            server, {"K": "k3y"}, scheme="api-key", header="X-Shop", source="env", name="K"
        )
        assert plain["x-shop"] == "k3y" and "authorization" not in plain
        env = {"K": json.dumps({"live": "k4y"})}
        member = await send_and_read_headers(
            server, env, scheme="api-key", header="X-Shop", source="env", name="K", key="live"
        )
        assert member["x-shop"] == "k4y"


@pytest.mark.parametrize("scheme", ["bearer-token", "service-account"])
@in_event_loop
async def test_a_token_is_shown_as_a_bearer(scheme: str) -> None:
    """AML-66, AML-70."""
    with far(fine) as server:
        seen = await send_and_read_headers(server, {"T": "t0ken"}, scheme=scheme, source="env", name="T")
        assert seen["authorization"] == "Bearer t0ken"


@in_event_loop
async def test_nothing_is_shown_where_nothing_is_said() -> None:
    """AML-58, AML-66."""
    with far(fine) as server:
        assert "authorization" not in await send_and_read_headers(server, {}, scheme="none")


@in_event_loop
async def test_a_brokers_token_is_shown_and_the_broker_is_asked_as_ourselves() -> None:
    """AML-60, AML-61."""
    with far(fine) as server:
        env = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_ENDPOINT_URL": server.url}
        arn = f"arn:aws:lambda:{REGION}:123456789012:function:broker"
        seen = await send_and_read_headers(server, env, scheme="oauth2", provider="aws", function_id=arn, scopes=["a"])
        assert seen["authorization"] == "Bearer from-the-broker"
        assert json.loads(server.asked[0].body) == {"scopes": ["a"]}


@in_event_loop
async def test_a_token_address_of_our_own_stands_beside_the_broker_and_is_asked_in_its_place() -> None:
    """AML-60 holds: the definition names a broker for whoever does not know the extension."""
    with far(
        lambda asked: Reply(200, {"access_token": "direct", "expires_in": 60}) if asked.form else fine(asked)
    ) as server:
        seen = await send_and_read_headers(
            server,
            {"CLIENT_SECRET": "s"},
            scheme="oauth2",
            provider="azure",
            function_id="https://id.example/broker",
            source="env",
            name="CLIENT_SECRET",
            **{"x-token-url": f"{server.url}/token", "x-client-id": "me"},
        )
        assert seen["authorization"] == "Bearer direct"
        assert server.paths() == ["/token", "/it"]


@in_event_loop
async def test_secrets_come_from_every_store(aws: Amazon, gcp: Google, azure: Azure, tmp_path: Path) -> None:
    """AML-62, AML-63."""
    aws.client("secretsmanager").create_secret(Name="shop", SecretString='{"token": "of-amazon"}')
    gcp.secrets["acme/shop/latest"] = b"of-google"
    azure.secrets["shop"] = "of-microsoft"
    env = {**aws.environment(), **gcp.environment(tmp_path / "key.json"), **azure.environment(), "T": "of-ours"}
    kept: list[dict[str, str]] = [
        {"source": "env", "name": "T"},
        {"source": "aws_secrets_manager", "secret_id": "shop", "region": REGION, "key": "token"},
        {"source": "gcp_secret_manager", "project": "acme", "secret": "shop"},
        {"source": "azure_key_vault", "vault_url": azure.url, "secret_name": "shop"},
    ]
    with far(fine) as server:
        seen = [
            (await send_and_read_headers(server, env, scheme="bearer-token", **each))["authorization"] for each in kept
        ]
    assert seen == ["Bearer of-ours", "Bearer of-amazon", "Bearer of-google", "Bearer of-microsoft"]


@in_event_loop
async def test_a_missing_secret_refuses_the_call_before_anything_is_sent() -> None:
    """AML-72, AT-36: on the surface already, and again when it vanishes later."""
    with far(fine) as server:
        env: dict[str, str] = {}
        files = tool(server, scheme="bearer-token", source="env", name="SHOP_TOKEN")
        async with memory_app(definitions=files, settings=SETTINGS, environment=env, policy=ALLOW) as app:
            surface = app.surface()
            entry = next(each for each in surface.surface.entries.values() if each.tool.name == "the-tool")
            assert not entry.is_visible
            refused = await called(surface)
            assert refused.error is not None and refused.error.error_class == "credential_missing"
            assert "SHOP_TOKEN" in refused.error.message
            env["SHOP_TOKEN"] = "now it is there"
            ready = app.surface()
            assert (await called(ready)).error is None
            before = len(server.asked)
            del env["SHOP_TOKEN"]
            gone = await called(app.surface())
            assert gone.error is not None and gone.error.error_class == "credential_missing"
            assert len(server.asked) == before == 1


@in_event_loop
async def test_a_secret_that_a_store_does_not_have_refuses_the_call_before_anything_is_sent(aws: Amazon) -> None:
    """AML-72."""
    with far(fine) as server:
        files = tool(server, scheme="bearer-token", source="aws_secrets_manager", secret_id="nobody/has/it")
        async with memory_app(definitions=files, settings=SETTINGS, environment=aws.environment(), policy=ALLOW) as app:
            refused = await called(app.surface())
            assert refused.error is not None
            assert (refused.error.error_class, refused.error.error_code) == ("credential_missing", "secret_unavailable")
            assert refused.error.native_error_ref == "aws:ResourceNotFoundException"
        assert not server.asked


@in_event_loop
async def test_a_refused_secret_is_read_anew_by_the_next_call() -> None:
    with far(lambda asked: fine(asked) if asked.bearer == "new" else Reply(401, {})) as server:
        env = {"T": "old"}
        files = tool(server, scheme="bearer-token", source="env", name="T")
        async with memory_app(definitions=files, settings=SETTINGS, environment=env, policy=ALLOW) as app:
            surface = app.surface()
            refused = await called(surface)
            assert refused.error is not None
            assert (refused.error.error_class, refused.error.error_code) == ("credential_missing", "credential_refused")
            env["T"] = "new"
            assert (await called(surface)).error is None


@in_event_loop
async def test_a_file_of_secrets_that_appears_makes_the_tool_usable_on_an_open_surface(tmp_path: Path) -> None:
    """`.env` in development: no restart, and its values are not in the environment."""
    with far(fine) as server:
        (tmp_path / "tools").mkdir()
        for name, text in tool(server, scheme="bearer-token", source="env", name="FROM_FILE").items():
            (tmp_path / name).write_text(text)
        (tmp_path / "ferrule.toml").write_text('namespace = "n"\n[network]\nallow = ["127.0.0.1"]\n')
        (tmp_path / "policy.toml").write_text(ALLOW)
        clock = FakeClock()
        async with open_app(tmp_path, environment={"HOME": str(tmp_path)}, clock=clock) as app:
            surface = app.surface()
            refused = await called(surface)
            assert refused.error is not None and refused.error.error_class == "credential_missing"
            (tmp_path / ".env").write_text("FROM_FILE=first\n")
            clock.advance(2)
            found = await called(surface)
            assert found.error is None, found.error
            assert server.asked[-1].bearer == "first" and len(server.asked) == 1


@in_event_loop
async def test_one_run_reads_a_secret_once_and_another_run_reads_it_anew() -> None:
    """AML-72."""
    with far(fine) as server:
        env = {"T": "one"}
        files = tool(server, scheme="bearer-token", source="env", name="T")
        async with memory_app(definitions=files, settings=SETTINGS, environment=env, policy=ALLOW) as app:
            await called(app.surface(run_id="r1"))
            env["T"] = "two"
            await called(app.surface(run_id="r1"))
            await called(app.surface(run_id="r2"))
        assert [each.bearer for each in server.asked] == ["one", "one", "two"]


@in_event_loop
async def test_without_keeping_every_call_reads_it_anew() -> None:
    with far(fine) as server:
        env = {"T": "one"}
        files = tool(server, scheme="bearer-token", source="env", name="T")
        settings = Settings(network=SETTINGS.network, secrets=SecretSettings(cache_seconds=0))
        async with memory_app(definitions=files, settings=settings, environment=env, policy=ALLOW) as app:
            await called(app.surface(run_id="r1"))
            env["T"] = "two"
            await called(app.surface(run_id="r1"))
        assert [each.bearer for each in server.asked] == ["one", "two"]


@pytest.mark.parametrize("name", [".env", "./.env", "notes/../.env", "linked"])
@in_event_loop
async def test_no_tool_reads_the_file_of_secrets(tmp_path: Path, name: str) -> None:
    """Whoever may read the workspace may not read this."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "ferrule.toml").write_text('namespace = "n"\n[policy]\nmode = "trusted"\n')
    (tmp_path / "shop.adl.yaml").write_text(write_manifest(read={"enabled": True}))
    (tmp_path / "plain.txt").write_text("plain")
    (tmp_path / ".env").write_text("A=canary-secret")
    async with open_app(tmp_path, environment={"PATH": "/usr/bin"}) as app:
        (tmp_path / "linked").symlink_to(".env")
        surface = app.surface(run_id="r")
        read = await surface.call("read", {"file_path": "plain.txt"})
        assert isinstance(read, Result) and read.error is None, read
        refused = await surface.call("read", {"file_path": name})
        assert isinstance(refused, Result) and refused.error is not None
        assert refused.error.error_class == "sandbox_violation"
        assert "canary-secret" not in repr(refused)
