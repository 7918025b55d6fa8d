"""`ferrule connect`, `connections` and `disconnect`, with a real provider and a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.infra.credentials.oauth import FOLDER
from tests.cli.mail import COUNT, FUNCTIONS
from tests.cli.run import ferrule
from tests.infra.credentials.provider import Browser, Provider, running_provider

SETTINGS = """
[network]
allow = ["127.0.0.1"]

[functions]
modules = ["functions.py"]


[oauth.acme]
client_id = "public"
issuer = "{issuer}"
scopes = ["openid", "offline_access"]
"""
POLICY = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A real OpenID provider."""
    with running_provider() as started:
        yield started


@pytest.fixture
def workspace(tmp_path: Path, provider: Provider) -> Path:
    """A workspace with a tool that acts in a user's name."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "count.json").write_text(json.dumps(COUNT), encoding="utf-8")
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "ferrule.toml").write_text(SETTINGS.format(issuer=provider.issuer), encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def _connect(folder: Path, *options: str, login: str = "alice") -> tuple[int, str, str]:
    """Run `ferrule connect acme` and be the user."""
    command = [sys.executable, "-c", "import sys; from ferrule.cli import main; sys.exit(main())", "connect", "acme"]
    child = subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    try:
        said = ""
        while "code_challenge" not in said:
            line = child.stderr.readline()
            assert line, f"no address was shown: {said}"
            said += line
        url = next(word for word in said.split() if word.startswith("http"))
        page = Browser(login).visit_now(url)
        assert "is connected to acme" in page
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait(timeout=10)
    return child.returncode, out, said + err


def test_a_user_connects_calls_and_disconnects(workspace: Path) -> None:
    refused = ferrule("call", "Mail_Count", "--json", folder=workspace)
    told = json.loads(refused.out)
    assert told["error"]["error_code"] == "authorization_required"
    assert "'ferrule connect acme' does it from here" in ferrule("call", "Mail_Count", folder=workspace).err
    (challenge,) = told["structured_content"]["authorization"]
    assert challenge["id"] == "acme" and "&code_challenge=" in challenge["url"] and "REDACTED" not in challenge["url"]

    code, out, err = _connect(workspace)
    assert code == 0, err
    assert out.startswith("connected acme: agents since ") and "read" in out and "renewed by itself" in out
    assert json.loads(ferrule("call", "Mail_Count", folder=workspace).out)["length"] > 20

    listed = ferrule("connections", "--json", folder=workspace)
    (connection,) = json.loads(listed.out)
    assert connection["provider"] == "acme" and not {"access_token", "refresh_token"} & set(connection)
    assert ferrule("connect", "acme", folder=workspace).code == 0, "what is there is not asked for again"

    gone = ferrule("disconnect", "acme", folder=workspace)
    assert gone.out == "disconnected agents from acme\n" and gone.err == ""
    assert ferrule("disconnect", "acme", folder=workspace).out == "agents was not connected to acme\n"
    assert ferrule("call", "Mail_Count", folder=workspace).code != 0
    assert list((workspace / FOLDER).glob("[0-9a-f]" * 64)) == []


def test_users_are_kept_apart(workspace: Path) -> None:
    assert _connect(workspace, "--principal", "bob", login="bob")[0] == 0
    assert "nothing is authorized" in ferrule("connections", folder=workspace).err
    assert ferrule("connections", "--principal", "bob", folder=workspace).out.startswith("acme: bob")
    assert ferrule("connections", "--all", folder=workspace).out.count("\n") == 1
    assert ferrule("call", "Mail_Count", folder=workspace).code != 0
    assert ferrule("call", "Mail_Count", "--principal", "bob", folder=workspace).code == 0


def test_a_caller_without_the_admin_scope_touches_only_its_own(workspace: Path) -> None:
    token = ferrule("token", "add", "carol", "--scope", "call", folder=workspace).out.strip()
    for words in (
        ["connections", "--all"],
        ["connections", "--principal", "bob"],
        ["disconnect", "acme", "--principal", "bob"],
    ):
        refused = ferrule(*words, folder=workspace, environment={"FERRULE_TOKEN": token})
        assert refused.code == 2 and "admin scope" in refused.err
    assert ferrule("connections", folder=workspace, environment={"FERRULE_TOKEN": token}).code == 0


def test_nobody_comes_back_in_time(workspace: Path) -> None:
    ran = ferrule("connect", "acme", "--timeout", "0.2", folder=workspace)
    assert ran.code == 2 and "within 0.2 seconds" in ran.err


def test_an_unknown_provider_is_told(workspace: Path) -> None:
    ran = ferrule("connect", "acne", folder=workspace)
    assert ran.code == 2 and "[oauth.acne]" in ran.err and "acme" in ran.err
