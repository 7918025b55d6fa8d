"""Connections in one line, and what a command says when a provider cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.cli.connection_choice import format_connection, make_refusal
from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import SettingsError, WorkspaceError
from ferrule.infra.credentials.oauth_records import UserConnection

NOON = 1_767_268_800.0


def connection(**more: Any) -> UserConnection:
    usual: dict[str, Any] = {"provider": "crm", "principal": "ada", "tenant": "default", "scopes": ("read", "write"),
                             "connected_at": NOON, "expires_at": None, "is_renewable": False}  # fmt: skip
    return UserConnection(**{**usual, **more})


def test_a_connection_says_whose_it_is_since_when_and_for_how_long() -> None:
    assert format_connection(connection()) == "crm: ada since 2026-01-01, without an end; read write"
    assert "until 2026-01-01 13:00 UTC; no scopes" in format_connection(connection(expires_at=NOON + 3600, scopes=()))
    assert "renewed by itself" in format_connection(connection(expires_at=NOON, is_renewable=True))


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in format_connection(connection(principal="a\x1b[2J"))


@pytest.mark.parametrize(
    ("kind", "error"), [("setup_required", SettingsError), ("dependency_unavailable", WorkspaceError)]
)
def test_what_is_not_set_up_is_a_matter_of_settings(kind: Any, error: type[Exception]) -> None:
    found = make_refusal(ExecutionFailed(kind, "no such provider"))
    assert type(found) is error and str(found) == "no such provider"
