"""`ferrule console` and `ferrule serve --open`: finding the server, a link that works once, and when a browser is opened."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import pytest

from ferrule.cli import console
from ferrule.cli.workspace_choice import FOLDER, AddressNote, list_addresses, note_address, remove_notes
from ferrule.model.serving import ServeSettings
from tests.cli.run import ferrule
from tests.servers.local_server import WAIT_SECONDS, running_process


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ferrule.toml").write_text("")
    return tmp_path


def test_the_console_of_a_server_on_any_port_is_found_and_its_link_signs_in_once(workspace: Path) -> None:
    with running_process(workspace) as server:
        ran = ferrule("console", folder=workspace)
        assert (ran.code, ran.err) == (0, "")
        link = ran.out.strip()
        assert link.startswith(f"{server.url}/console/login?code=")
        with build_opener(ProxyHandler({}), HTTPCookieProcessor()).open(link, timeout=10) as page:
            assert page.url.rstrip("/") == f"{server.url}/console"
        with (
            pytest.raises(HTTPError) as again,
            build_opener(ProxyHandler({}), HTTPCookieProcessor()).open(link, timeout=10),
        ):
            raise AssertionError("a link was used twice")
        assert again.value.code in (401, 403)
        again.value.close()
    assert not [*(workspace / FOLDER).iterdir()]


def test_nothing_served_is_told_with_what_to_do(workspace: Path) -> None:
    with remove_notes(notes := note_address(workspace, "127.0.0.1:2")):  # of a server that hangs
        ran = ferrule("console", "--no-open", folder=workspace)
        assert ran.code == 2 and len(notes) == 1
        assert "nothing serves this workspace; start it with 'ferrule serve', or say with --url" in ran.err
    ran = ferrule("console", "--no-open", "--url", "http://127.0.0.1:1", folder=workspace)
    assert ran.code == 2
    assert "nothing answers at http://127.0.0.1:1; start it with 'ferrule serve', or say where it is" in ran.err


def test_the_server_of_another_workspace_is_not_taken_for_this_ones(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    with running_process(workspace) as server:
        port = urlsplit(server.url).port
        (other / "ferrule.toml").write_text(f"[serve]\nport = {port}\n")
        (other / FOLDER).mkdir(parents=True)
        (other / FOLDER / str(port)).write_text(
            f"{server.url}\n"
        )  # of a server that was killed, whose port was taken since
        for environment in ({}, {"FERRULE_SERVE_PORT": str(port)}):
            ran = ferrule("console", "--no-open", folder=other, environment=environment)
            assert (ran.code, ran.out) == (2, "")
            assert "nothing serves this workspace" in ran.err
    assert not (other / ".ferrule/keys").exists()


def test_the_environment_chooses_among_the_servers_of_a_workspace(workspace: Path) -> None:
    with running_process(workspace) as first, running_process(workspace) as second:
        for server in (first, second):
            port = str(urlsplit(server.url).port)
            ran = ferrule("console", "--no-open", folder=workspace, environment={"FERRULE_SERVE_PORT": port})
            assert ran.out.startswith(f"{server.url}/console/login"), ran


def test_a_configuration_for_a_server_on_a_free_port_has_its_port(workspace: Path) -> None:
    assert (
        "http://127.0.0.1:PORT/v1/tools" in ferrule("serve", "--snippet", "curl", "--port", "0", folder=workspace).out
    )
    with running_process(workspace) as server:
        assert f"{server.url}/v1/tools" in ferrule("serve", "--snippet", "curl", "--port", "0", folder=workspace).out


def test_serving_opens_the_browser_where_there_is_a_screen(workspace: Path) -> None:
    opened, browser = workspace / "opened", workspace / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "WAYLAND_DISPLAY")}
    environment |= {"DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    ours, its = os.openpty()
    words = [sys.executable, "-m", "ferrule", "serve", "--workspace", str(workspace), "--port", "0", "--open"]
    with subprocess.Popen(words, stdout=its, stderr=its, env=environment) as process:
        try:
            end = time.monotonic() + WAIT_SECONDS
            while not opened.exists():
                assert process.poll() is None and time.monotonic() < end, os.read(ours, 10_000).decode()
                time.sleep(0.05)
            told, link = os.read(ours, 10_000).decode(), opened.read_text()
            assert "/console/login?code=" in told and link not in told  # each link works once
            with build_opener(ProxyHandler({}), HTTPCookieProcessor()).open(link, timeout=10) as page:
                assert page.status == 200 and "login" not in page.url
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)
            os.close(ours)
            os.close(its)


def test_a_note_that_leads_elsewhere_is_not_followed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "is_served", lambda address: True)
    with remove_notes(notes := note_address(workspace, "evil.example:80")):
        assert console.find_server(workspace, ServeSettings()) == ""
        notes += note_address(workspace, "127.0.0.1:9001")
        assert console.find_server(workspace, ServeSettings()) == "http://127.0.0.1:9001"


def test_notes_are_forgotten_with_their_server(workspace: Path) -> None:
    notes: list[AddressNote] = []
    with remove_notes(notes):
        notes += note_address(workspace, "[::1]:9002")
        assert list_addresses(workspace) == ["http://[::1]:9002"]
    assert list_addresses(workspace) == []


def test_where_no_note_can_be_written_it_is_served_all_the_same(workspace: Path) -> None:
    (workspace / ".ferrule").write_text("in the way")
    assert note_address(workspace, "127.0.0.1:9003") == []


@pytest.mark.parametrize(
    ("environment", "system", "is_terminal", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True, True),
        ({}, "linux", True, False),
        ({}, "darwin", True, True),
        ({"DISPLAY": ":0"}, "linux", False, False),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", True, False),
    ],
)
def test_a_browser_is_opened_only_for_somebody_with_a_screen(
    environment: dict[str, str], system: str, is_terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    assert console.can_open(environment, system) is expected
