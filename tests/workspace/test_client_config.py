"""Reading what desktop clients know of MCP servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.errors import SettingsError
from ferrule.workspace.client_config import read_servers


def written(folder: Path, config: Any) -> Path:
    file = folder / "config.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config))
    return file


@pytest.mark.parametrize(
    "path", [("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",)], ids=lambda path: ".".join(path)
)
def test_the_list_is_found_where_each_client_keeps_it(path: tuple[str, ...], tmp_path: Path) -> None:
    config: Any = {"shop": {"command": "shop-mcp", "args": ["--all"]}}
    for name in reversed(path):
        config = {name: config}
    (taken,) = read_servers(written(tmp_path, config))
    assert (taken.name, taken.server.command, taken.secrets) == ("shop", ("shop-mcp", "--all"), {})


def test_comments_and_trailing_commas_are_read_over_and_strings_are_not_touched(tmp_path: Path) -> None:
    text = '{ // one\n "mcpServers": {"a": {"url": "https://x.example//y,]", /* two */ },},}'
    (taken,) = read_servers(written(tmp_path, text))
    assert taken.server.url == "https://x.example//y,]"


def test_values_of_variables_are_kept_apart_and_named_for_their_server(tmp_path: Path) -> None:
    config = {"mcpServers": {"my shop": {"command": "x", "env": {"KEY": "s3cret", "HOME_DIR": "${env:HOME}/a"}}}}
    (taken,) = read_servers(written(tmp_path, config))
    assert taken.server.env == {"KEY": "${MY_SHOP_KEY}", "HOME_DIR": "${HOME}/a"}
    assert taken.secrets == {"MY_SHOP_KEY": "s3cret"}


@pytest.mark.parametrize(
    ("headers", "credentials"),
    [
        ({"Authorization": "Bearer abc"}, {"scheme": "bearer-token", "source": "env", "name": "A_TOKEN"}),
        ({"X-Api-Key": "abc"}, {"scheme": "api-key", "header": "X-Api-Key", "source": "env", "name": "A_X_API_KEY"}),
        ({}, {}),
    ],
    ids=["bearer", "key", "nothing"],
)
def test_what_headers_show_becomes_a_credential(
    headers: dict[str, str], credentials: dict[str, str], tmp_path: Path
) -> None:
    (taken,) = read_servers(written(tmp_path, {"servers": {"a": {"url": "https://x.example/mcp", "headers": headers}}}))
    assert taken.server.credentials == credentials
    assert set(taken.secrets.values()) == ({"abc"} if headers else set())


def test_what_the_client_asks_its_user_for_is_noted(tmp_path: Path) -> None:
    config = {"servers": {"a": {"command": "x", "env": {"KEY": "${input:api-key}"}}}}
    (taken,) = read_servers(written(tmp_path, config))
    assert taken.server.env == {"KEY": "${A_API_KEY}"}
    assert taken.secrets == {}
    assert "A_API_KEY" in taken.notes[0]


def test_what_is_switched_off_is_left_and_names_stay_apart(tmp_path: Path) -> None:
    config = {"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}, "c": {"command": "z", "disabled": True}}}
    assert [taken.name for taken in read_servers(written(tmp_path, config))] == ["a-b", "a-b-2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("{}", "lists no MCP servers"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "switched on"),
        ('{"mcpServers": {"a": {"command": ["x", 1]}}}', "list of words"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["torn", "empty", "off", "no command", "deep"],
)
def test_what_cannot_be_taken_over_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=told):
        read_servers(written(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_servers(tmp_path / "none.json")


def test_one_that_cannot_be_taken_over_does_not_stop_the_others(tmp_path: Path) -> None:
    config = {"mcpServers": {"a": {"command": ["x", 1]}, "b": {"command": "y"}}}
    told: list[str] = []
    (taken,) = read_servers(written(tmp_path, config), unusable=told.append)
    assert taken.name == "b"
    assert "'a'" in told[0]


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ({"url": "http://user:pw@h/"}, "user name or password"),
        ({"url": "not a url"}, "its url cannot be used"),
        ({"url": "ftp://x/y"}, "http or https"),
        ({"url": "http://h:99999/x"}, "its port"),
        ({"url": "https://x.example/${env:PLACE:-pw}"}, "${env:PLACE}"),
        ({"url": "https://x.example/", "headers": "pw"}, "its headers"),
        ({"url": "https://x.example/", "headers": ["pw"]}, "its headers"),
        ({"command": "x", "env": ["pw"]}, "its env"),
        ({"command": "x", "args": "notalist"}, "its args"),
        ({"command": {"path": "x", "args": {"a": "pw"}}}, "its args"),
    ],
    ids=lambda one: json.dumps(one) if isinstance(one, dict) else "",
)
def test_what_could_not_be_used_is_left_out_with_what_is_wrong(
    server: dict[str, Any], told: str, tmp_path: Path
) -> None:
    problems: list[str] = []
    config = {"mcpServers": {"odd": server, "good": {"command": "y", "args": None}}}
    assert [one.name for one in read_servers(written(tmp_path, config), unusable=problems.append)] == ["good"]
    (problem,) = problems
    assert "'odd'" in problem
    assert told in problem
    assert "pw" not in problem


def test_a_long_name_is_shortened_to_one_that_the_settings_take(tmp_path: Path) -> None:
    config = {"mcpServers": {"a" * 300: {"command": "x"}, "a" * 301: {"command": "y"}}}
    first, second = read_servers(written(tmp_path, config))
    assert (first.name, second.name) == ("a" * 64, f"{'a' * 64}-2")
    assert "shortened" in first.notes[0]


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (["--api-key", "CANARY"], "--api-key"),
        (["--apiKey", "CANARY-token=CANARY"], "--apiKey"),
        (["--token=CANARY.secret=CANARY"], "--token"),
        (["-H", "Authorization: Bearer CANARY"], "Authorization"),
        (["--header=X-API-Key:CANARY"], "X-API-Key"),
        (["-e", "GITHUB_TOKEN=CANARY"], "GITHUB_TOKEN"),
        (["--config", '{"clientSecret": "CANARY"}'], "clientSecret"),
        (["https://x.example/?a=b&api_key=CANARY"], "api_key"),
        (["postgresql://CANARY:CANARY@host/db"], "user:password@"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_secrets_among_arguments_are_noted_by_their_names(args: list[str], name: str, tmp_path: Path) -> None:
    """The words of a command hold no references, so they stay what they are."""
    (taken,) = read_servers(written(tmp_path, {"mcpServers": {"a": {"command": "x", "args": args}}}))
    assert taken.server.command == ("x", *args)
    (note,) = taken.notes
    assert note.startswith(f"{name!r} in its args looks like a secret")
    assert "CANARY" not in note


@pytest.mark.parametrize(
    "args",
    [["--max-tokens", "5"], ["-y", "@scope/key@1.2"], ["-p", "80:80"], ["--token", "--all"], ["-e", "API_KEY"]],
    ids=" ".join,
)
def test_ordinary_arguments_are_not_taken_for_secrets(args: list[str], tmp_path: Path) -> None:
    (taken,) = read_servers(written(tmp_path, {"mcpServers": {"a": {"command": "x", "args": args}}}))
    assert taken.notes == ()


def test_a_secret_in_an_address_is_noted_by_its_name(tmp_path: Path) -> None:
    url = "https://x.example/mcp?place=1&token=CANARY"
    (taken,) = read_servers(written(tmp_path, {"mcpServers": {"a": {"url": url}}}))
    (note,) = taken.notes
    assert note.startswith("'token' in its url looks like a secret")
    assert "CANARY" not in note


def test_what_a_client_fills_into_arguments_is_noted(tmp_path: Path) -> None:
    """But for what the program has among its variables: it fills that in by itself."""
    args = ["${env:HOME}/a", "--key=${input:my-key}", "${PLACE:-CANARY}", "Authorization:${AUTH}"]
    server = {"command": "x", "args": args, "env": {"AUTH": "Bearer b"}}
    (taken,) = read_servers(written(tmp_path, {"mcpServers": {"a": server}}))
    names = [note.partition(" ")[0] for note in taken.notes]
    assert names == ["${env:HOME}", "${input:my-key}", "${PLACE}"]
