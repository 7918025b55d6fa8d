"""What callers over OXP become here, whichever credential they show: `[[serve.grants]]`, and what keys themselves say."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator

import pytest

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import CALL
from ferrule.model.serving import GrantSettings, OxpSettings, ServeSettings
from tests.servers.oxp.oxp_server import LOGGED, OxpTestServer, running_oxp_server
from tests.servers.oxp.test_credentials import ENV, SECRET, signed, soon

GRANTS = (
    GrantSettings(principal="mallory", refuse=True),
    GrantSettings(principal="ann", role="bystanders"),
    GrantSettings(principal="eve", issuer="local", role="bystanders"),
    GrantSettings(principal="oxp-only", issuer="oxp", refuse=True),
)
ROLE = """\
---
spec_version: "1.2"
iam_id: bystanders
version: 1.0.0
status: active
meta:
  name: Bystanders
  description: Who may look on.
  owner: security-team
  last_updated: 2026-04-01
cloud:
  provider: aws
  role_arn: arn:aws:iam::123456789012:role/Bystanders
tools: []
---
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxpTestServer]:
    folder = tmp_path_factory.mktemp("oxp")
    (folder / "bystanders.iam.md").write_text(ROLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENV, SECRET)
        ways = ServeSettings(oxp=OxpSettings(jwt_secret_env=ENV), grants=GRANTS)
        with running_oxp_server(folder, ways) as one:
            yield one


def key(made: OxpTestServer, name: str, limits: KeyLimits | None = None) -> dict[str, str]:
    access = Access(made.stand.app.root)
    _, secret = access.add(access.local_owner(), name, [CALL], (), limits or KeyLimits())
    return {"OXP-API-Key": secret}


def token(name: str) -> dict[str, str]:
    return signed({"exp": soon(), "sub": name})


def list_ids(made: OxpTestServer, shown: dict[str, str]) -> set[str]:
    return {tool["id"] for tool in made.ask("GET", "/oxp/tools", headers=shown).json()["tools"]}


def test_whom_a_grant_refuses_does_not_come_in_by_any_credential(
    made: OxpTestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-45, OXP-47"""
    shown = [token("mallory"), key(made, "mallory"), token("oxp-only"), token("somebody"), key(made, "oxp-only")]
    assert [made.ask("GET", "/oxp/tools", headers=one).status for one in shown] == [401, 401, 401, 200, 200]
    assert made.call(token("mallory"), tool_id="Doorbell.Ring").status == 401
    assert "refused: mallory, whom a grant of [[serve.grants]] refuses" in caplog.text


@pytest.mark.parametrize("name", ["ann", "eve"])
def test_a_grant_binds_the_same_person_by_key_and_by_token(made: OxpTestServer, name: str) -> None:
    """OXP-45: the people of a shared secret are the workspace's own, so that `local` means them, too."""
    assert list_ids(made, key(made, name)) == list_ids(made, token(name)) == set()
    assert made.call(token(name), tool_id="Doorbell.Ring").status == 400
    assert "Doorbell.Ring@0.1.0" in list_ids(made, token("somebody"))


@pytest.mark.parametrize("subject", ["group:finance", "", " ann", "a\nb", "x" * 257, 5, None, ["ann"]])
def test_a_subject_that_is_no_name_does_not_come_in(made: OxpTestServer, subject: object) -> None:
    """OXP-45: and does not become somebody else."""
    shown = signed_raw({"exp": soon(), "sub": subject})
    assert made.ask("GET", "/oxp/tools", headers=shown).status == 401


def signed_raw(claims: dict[str, object]) -> dict[str, str]:
    """Signed as given: the library refuses to write a subject that is no text."""
    parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in ({"alg": "HS256"}, claims)]
    mark = hmac.new(SECRET.encode(), b".".join(parts), hashlib.sha256).digest()
    return {"Authorization": f"Bearer {b'.'.join([*parts, base64.urlsafe_b64encode(mark).rstrip(b'=')]).decode()}"}


@pytest.mark.parametrize("limits", [KeyLimits(agent="ghost"), KeyLimits(role="ghost"), KeyLimits(surface="ghost")])
def test_a_key_for_what_the_catalog_lacks_is_refused_and_its_owner_can_see_why(
    made: OxpTestServer, limits: KeyLimits, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-47"""
    shown = key(made, "bot", limits)
    with caplog.at_level(logging.WARNING, LOGGED):
        replies = [made.ask("GET", "/oxp/tools", headers=shown), made.call(shown, tool_id="Doorbell.Ring")]
    for reply in replies:
        assert (reply.status, "www-authenticate" in reply.headers) == (401, True)
        assert "ask whoever gave it to you" in reply.json()["message"] and b"ghost" not in reply.body
    assert "ghost" in caplog.text and "bot" in caplog.text
