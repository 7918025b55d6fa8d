"""A workspace behind a proxy: tools go through, its login is as secret as any, and mistakes show early."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.app.network import Network
from ferrule.errors import SettingsError
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.urls import parse_url
from ferrule.model.result import Result
from ferrule.model.upstreams import HostTls
from ferrule.settings import NetworkSettings, Settings
from ferrule.workspace.workspace import Workspace
from tests.infra.network.authority import Authority
from tests.infra.network.fake_proxy import running_proxy
from tests.infra.network.servers import ok, running_site
from tests.runtime.executors.rest.tools import definition

TRUSTED = '[policy]\nmode = "trusted"\n'
AGENT = """
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Keeps notes., version: "1.0.0"}
spec:
  capabilities: {streaming: false, pushNotifications: false, stateTransitionHistory: false}
  tools: [{id: read}, {id: fetch}]
  config: {tools: {read: {enabled: true}, fetch: {enabled: true}}}
  server: {port: 8080}
  language: {go: {module: example.com/clerk, version: "1.24"}}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is known on this machine."""

    def look_up(*given: Any, **named: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("ferrule.infra.network.guard.socket.getaddrinfo", look_up)


@pytest.mark.parametrize("named_by", ["settings", "environment"])
def test_tools_and_fetch_go_through_and_the_login_is_a_secret(tmp_path: Path, unknown: None, named_by: str) -> None:
    async def story() -> None:
        body = b'{"said": "me:s3cret-login and bWU6czNjcmV0LWxvZ2lu"}'
        async with (
            running_proxy("me:s3cret-login") as relay,
            running_site(ok(body, "Content-Type: application/json")) as there,
        ):
            place = f"127.0.0.1:{relay.port}"
            network, env = "", {"HTTP_PROXY": f"http://me:s3cret-login@{place}"}
            if named_by == "settings":
                network = f'[network]\nproxy = "http://{place}"\nproxy_login_env = "LOGIN"\n'
                env = {"LOGIN": "me:s3cret-login"}
            (tmp_path / "ferrule.toml").write_text(f"{TRUSTED}{network}")
            (tmp_path / "clerk.yaml").write_text(AGENT)
            (tmp_path / "tools").mkdir()
            base = f"http://far.test:{there.port}"
            (tmp_path / "tools/the-tool.tool.md").write_text(definition(endpoint="GET /x", base_url=base))
            async with ferrule.open(tmp_path, environment=env) as app:
                surface = app.surface(principal="ann")
                for name, arguments in (("the-tool", {}), ("fetch", {"url": f"{base}/y"})):
                    result = await surface.call(name, arguments)
                    assert isinstance(result, Result) and result.status == "succeeded", result
                    assert "s3cret" not in result.text and "bWU6" not in result.text
            assert relay.asked == [f"GET {base}/x HTTP/1.1", f"GET {base}/y HTTP/1.1"]

    asyncio.run(asyncio.wait_for(story(), 30))


def test_keys_and_authorities_are_out_of_reach_of_tools(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs/me.pem").write_bytes(authority.certificate("me.test").read_bytes())
    (tmp_path / "certs/ca.pem").write_bytes(authority.file.read_bytes())
    said = '[network]\nca = "certs/ca.pem"\n\n[network.tls."far.test"]\ncertificate = "certs/me.pem"\n'
    (tmp_path / "ferrule.toml").write_text(f"{TRUSTED}{said}")
    (tmp_path / "clerk.yaml").write_text(AGENT)

    async def story() -> None:
        async with ferrule.open(tmp_path, environment={}) as app:
            surface = app.surface(principal="ann")
            for file in ("certs/me.pem", "certs/ca.pem"):
                result = await surface.call("read", {"file_path": file})
                assert isinstance(result, Result) and result.error is not None
                assert result.error.error_code == "path_protected"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("said", "words"),
    [('proxy = "socks5://p.corp:1"', "no address of a proxy"), ('proxy = "http://me:x@p.corp:1"', "no place for secrets"),
     ('no_proxy = ["a b"]', "no_proxy has 'a b'"), ('ca = "nowhere.pem"', r"\[network\] ca: .*cannot be read"),
     ('[network.tls."far.test"]\nca = "ferrule.toml"', "there is no certificate in"),
     ('[network.tls."far.test"]\nkey = "me.key"', "a key and no certificate")],
)  # fmt: skip
def test_a_check_finds_what_could_never_be_used(tmp_path: Path, said: str, words: str) -> None:
    (tmp_path / "ferrule.toml").write_text(f"[network]\n{said}\n")
    with pytest.raises(SettingsError, match=words):
        Workspace.open(tmp_path).check()


def test_what_cannot_be_used_is_told_when_a_workspace_is_opened(tmp_path: Path) -> None:
    async def opened(said: str, env: dict[str, str]) -> None:
        (tmp_path / "ferrule.toml").write_text(said)
        async with ferrule.open(tmp_path, environment=env):
            raise AssertionError

    for said, env in (
        ('[network.tls."far.test"]\ncertificate = "nowhere.pem"\n', {}),
        ('[network]\nproxy = "http://p.corp:1"\nproxy_login_env = "LOGIN"\n', {}),
        ("", {"HTTPS_PROXY": "http://p.corp:x"}),
    ):
        with pytest.raises(SettingsError):
            asyncio.run(opened(said, env))


def test_a_client_reaches_what_the_settings_list_and_what_it_is_made_for(tmp_path: Path) -> None:
    network = Network(Settings(network=NetworkSettings(allow=("a.test",), tls={"a.test": HostTls()})), {}, tmp_path)
    guard = network.make_client(["b.test:8443"]).guard
    for url in ("https://a.test/", "https://b.test:8443/"):
        guard.demand_listed(parse_url(url))
    with pytest.raises(Forbidden):
        guard.demand_listed(parse_url("https://b.test/"))
