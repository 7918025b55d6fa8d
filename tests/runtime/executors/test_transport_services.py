"""What executors are given: it shows nothing of the environment, and hides nothing until somebody says how."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from ferrule.contracts.credentials import Vault
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.model.tool import Tool
from ferrule.runtime.executors.transport_services import TransportServices


def around() -> TransportServices:
    client = Client(Guard(()))
    clouds = Clouds(client, {}, lambda name, value: None)
    env = {"API_KEY": "canary-of-the-environment"}
    return TransportServices(
        client=client, guard=client.guard, vault=cast(Vault, None), clouds=clouds, env=env, root=Path("/shop")
    )


def test_a_traceback_shows_the_folder_and_no_secret() -> None:
    assert repr(around()) == str(around()) == f"{around()}" == "TransportServices('/shop')"


def test_without_a_redactor_everything_passes_and_nothing_can_be_answered_from_outside() -> None:
    plain, tool = around(), cast(Tool, None)
    assert plain.redact_arguments(tool, {"card": "4111"}) == {"card": "4111"}
    assert plain.redact_bytes(b"4111") == b"4111"
    assert plain.issue_callback("inv_1", 5) == ""
