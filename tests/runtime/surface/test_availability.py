"""The credentials a tool names, by dialect."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.tool import raw
from ferrule.runtime.surface.availability import Availability, list_credential_names
from tests.runtime.surface.surfaces import make_tool


@pytest.mark.parametrize(
    ("dialect", "written", "names"),
    [
        ("aml", {"scheme": "none"}, ()),
        ("aml", {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}, ("TOKEN",)),
        ("aml", {"scheme": "api-key", "source": "aws_secrets_manager", "secret_id": "a/b", "key": "k"}, ("a/b",)),
        ("aml", {"scheme": "api-key", "source": "gcp_secret_manager", "project": "p", "secret": "s"}, ("s",)),
        ("aml", {"scheme": "api-key", "source": "azure_key_vault", "vault_url": "u", "secret_name": "n"}, ("n",)),
        ("aml", {"scheme": "oauth2", "provider": "aws", "function_id": "arn:x"}, ("arn:x",)),
        ("aml", {"scheme": "iam-role"}, ("iam-role",)),
        ("aml", "secret", ("?",)),
        ("adl", {"environment": ["A", "B"]}, ("A", "B")),
        ("oxp", {"authorization": [{"id": "google"}], "secrets": [{"id": "KEY"}], "user_id": True}, ("google", "KEY")),
        ("agent_tool", ["one", {"credential_ref": "two"}, "one", 7], ("one", "two", "?")),
        ("agent_tool", "lone", ("lone",)),
    ],
)
def test_a_tool_names_its_credentials(dialect: str, written: Any, names: tuple[str, ...]) -> None:
    """AT-36: whatever is needed and not named readably counts as needed all the same."""
    tool = make_tool(dialect=dialect, credentials=raw(written))
    assert list_credential_names(tool, Availability()) == names


def test_the_interface_adds_to_them() -> None:
    tool = make_tool(dialect="agent_tool", credentials=raw(["one"]))
    assert list_credential_names(tool, Availability(required_credentials=["one", "two"])) == ("one", "two")
