"""Reading what desktop clients know of MCP servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.client_config import servers_in
from ferrule.errors import SettingsError


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
    (taken,) = servers_in(written(tmp_path, config))
    assert (taken.name, taken.server.command, taken.secrets) == ("shop", ("shop-mcp", "--all"), {})


def test_comments_and_trailing_commas_are_read_over_and_strings_are_not_touched(tmp_path: Path) -> None:
    text = '{ // one\n "mcpServers": {"a": {"url": "https://x.example//y,]", /* two */ },},}'
    (taken,) = servers_in(written(tmp_path, text))
    assert taken.server.url == "https://x.example//y,]"


def test_values_of_variables_are_kept_apart_and_named_for_their_server(tmp_path: Path) -> None:
    config = {"mcpServers": {"my shop": {"command": "x", "env": {"KEY": "s3cret", "HOME_DIR": "${env:HOME}/a"}}}}
    (taken,) = servers_in(written(tmp_path, config))
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
    (taken,) = servers_in(written(tmp_path, {"servers": {"a": {"url": "https://x.example/mcp", "headers": headers}}}))
    assert taken.server.credentials == credentials
    assert set(taken.secrets.values()) == ({"abc"} if headers else set())


def test_what_the_client_asks_its_user_for_is_noted(tmp_path: Path) -> None:
    config = {"servers": {"a": {"command": "x", "env": {"KEY": "${input:api-key}"}}}}
    (taken,) = servers_in(written(tmp_path, config))
    assert taken.server.env == {"KEY": "${A_API_KEY}"}
    assert taken.secrets == {}
    assert "A_API_KEY" in taken.notes[0]


def test_what_is_switched_off_is_left_and_names_stay_apart(tmp_path: Path) -> None:
    config = {"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}, "c": {"command": "z", "disabled": True}}}
    assert [taken.name for taken in servers_in(written(tmp_path, config))] == ["a-b", "a-b-2"]


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
        servers_in(written(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        servers_in(tmp_path / "none.json")


def test_one_that_cannot_be_taken_over_does_not_stop_the_others(tmp_path: Path) -> None:
    config = {"mcpServers": {"a": {"command": ["x", 1]}, "b": {"command": "y"}}}
    told: list[str] = []
    (taken,) = servers_in(written(tmp_path, config), unusable=told.append)
    assert taken.name == "b"
    assert "'a'" in told[0]
