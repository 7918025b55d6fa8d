"""What clients are given to connect: the address, the file of the token, and never the token itself."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ferrule.servers import client_setup
from ferrule.servers.client_setup import ServedWorkspace

HERE = ServedWorkspace("my shop", Path("/srv/my shop"), "http://127.0.0.1:8700", "/mcp")


def test_the_token_is_named_by_a_file_that_a_shell_reads_whatever_its_name() -> None:
    words = shlex.split(HERE.read_token.removeprefix("$(").removesuffix(")"))
    assert words == ["cat", str(HERE.token_file)]
    assert HERE.token_file.is_relative_to(HERE.root)


def test_mcp_clients_connect_below_the_address_of_the_process() -> None:
    assert HERE.mcp == "http://127.0.0.1:8700/mcp"


@pytest.mark.parametrize("is_open", [False, True])
def test_a_token_is_asked_for_only_where_one_is_needed(is_open: bool) -> None:
    place = ServedWorkspace("shop", Path("/srv/shop"), "http://127.0.0.1:8700", "/mcp", is_open)
    for write in (
        client_setup._write_claude_command,
        client_setup._write_curl_command,
        client_setup._write_python_program,
    ):
        assert (str(place.token_file) in write(place)) is not is_open, write


def test_what_is_pasted_into_a_file_of_settings_is_json_with_the_address() -> None:
    told = json.loads(client_setup._write_mcp_servers(HERE))
    assert told["mcpServers"]["my shop"]["url"] == HERE.mcp
