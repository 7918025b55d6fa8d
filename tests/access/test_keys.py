"""Who is calling: tokens are made on first use, stored as digests, and end at once when they are revoked."""

from __future__ import annotations

import getpass
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from tests.access.opened import access, keys, valid


def test_a_workspace_begins_with_an_owner_and_its_agents(tmp_path: Path) -> None:
    owner, agent = access(tmp_path).local_owner(), access(tmp_path).local_agent()
    assert owner.principal == getpass.getuser()
    assert owner.scopes == {APPROVE, ADMIN}
    assert agent.scopes == {CALL}
    assert owner.channel != agent.channel
    for name in ("tokens.json", "owner.token", "agent.token", "tokens.lock"):
        assert (keys(tmp_path) / name).stat().st_mode & 0o777 == 0o600
    assert (keys(tmp_path) / ".gitignore").read_text() == "*\n"


def test_a_revoked_token_ends_at_once_in_every_process(tmp_path: Path) -> None:
    here, elsewhere = access(tmp_path), access(tmp_path)
    token, secret = here.add(here.local_owner(), "ada", [APPROVE])
    assert elsewhere.authenticate(secret).principal == "ada"
    assert here.revoke(here.local_owner(), token.id[:5]).revoked is not None
    for one in (here, elsewhere):
        with pytest.raises(AccessError, match="not valid"):
            one.authenticate(secret)
    with pytest.raises(AccessError, match="revoked at"):
        here.revoke(here.local_owner(), token.id)


def test_only_the_admin_scope_changes_tokens(tmp_path: Path) -> None:
    here = access(tmp_path)
    for identity in (here.local_agent(), Identity("ada", "token:x", frozenset({APPROVE}))):
        with pytest.raises(AccessError, match="admin scope"):
            here.add(identity, "eve", [ADMIN])
        with pytest.raises(AccessError, match="admin scope"):
            here.revoke(identity, here.list_tokens()[0].id)


def test_the_last_admin_cannot_lock_everybody_out(tmp_path: Path) -> None:
    here = access(tmp_path)
    owner = here.local_owner()
    with pytest.raises(AccessError, match="last key"):
        here.revoke(owner, here.list_tokens()[0].id)
    here.add(owner, "ada", [ADMIN])
    here.revoke(owner, here.list_tokens()[0].id)
    with pytest.raises(AccessError, match="not valid"):
        here.local_owner()


def test_a_damaged_list_is_an_error_and_no_new_beginning(tmp_path: Path) -> None:
    access(tmp_path).local_owner()
    file = keys(tmp_path) / "tokens.json"
    file.write_text("{")
    with pytest.raises(AccessError, match="damaged"):
        access(tmp_path).local_owner()
    assert file.read_text() == "{"


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    access(tmp_path).local_owner()
    (keys(tmp_path) / "owner.token").chmod(0o640)
    with pytest.raises(AccessError, match="chmod 600"):
        access(tmp_path).local_owner()


def test_a_missing_token_file_says_what_to_do(tmp_path: Path) -> None:
    access(tmp_path).local_owner()
    (keys(tmp_path) / "owner.token").unlink()
    with pytest.raises(AccessError, match="FERRULE_TOKEN"):
        access(tmp_path).local_owner()


def test_processes_that_begin_and_add_together_lose_nothing(tmp_path: Path) -> None:
    def one(number: int) -> str:
        here = access(tmp_path)
        return here.add(here.local_owner(), f"person {number}", [CALL])[0].id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(one, range(24)))
    assert {token.id for token in access(tmp_path).list_tokens()} >= set(ids)
    assert len(access(tmp_path).list_tokens()) == 26


class Watch:
    """A clock that somebody turns."""

    now = 2_000_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_file_of_before_is_read_and_its_tokens_count(tmp_path: Path) -> None:
    here = access(tmp_path)
    _, secret = here.add(here.local_owner(), "ada", [APPROVE], ["finance"])
    file = keys(tmp_path) / "tokens.json"
    written = json.loads(file.read_text())
    known = ("id", "person", "scopes", "groups", "created", "revoked", "digest")
    written["tokens"] = [{name: token[name] for name in known if name in token} for token in written["tokens"]]
    file.write_text(json.dumps(written))
    identity = access(tmp_path).authenticate(secret)
    assert (identity.principal, identity.tenant) == ("ada", None)
    assert access(tmp_path).local_owner().scopes == {APPROVE, ADMIN}


def test_a_new_secret_leaves_the_old_one_a_while_and_the_one_before_that_no_time(tmp_path: Path) -> None:
    clock = Watch()
    here = Access(tmp_path, {}, clock)
    owner = here.local_owner()
    token, first = here.add(owner, "bot", [CALL], ["x"], KeyLimits(tenant="acme", role="clerk"))
    turned, second = here.rotate(owner, token.id[:6], 60)
    assert (turned.id, turned.person, turned.tenant, turned.role) == (token.id, "bot", "acme", "clerk")
    assert here.authenticate(first) == here.authenticate(second) == turned.identity
    _, third = here.rotate(owner, token.id, 60)
    assert [valid(here, secret) for secret in (first, second, third)] == [False, True, True]
    clock.now += 61
    assert [valid(here, secret) for secret in (first, second, third)] == [False, False, True]
    _, fourth = here.rotate(owner, token.id, 0)
    assert [valid(here, secret) for secret in (third, fourth)] == [False, True]
    here.rotate(owner, token.id, 60)
    here.revoke(owner, token.id)
    assert not valid(here, fourth)
    with pytest.raises(AccessError, match="has ended"):
        here.rotate(owner, token.id)


def test_rotating_the_workspaces_own_tokens_keeps_commands_working(tmp_path: Path) -> None:
    here = access(tmp_path)
    owner, agent = here.local_owner(), here.local_agent()
    for token in here.list_tokens():
        here.rotate(here.local_owner(), token.id, 0)
    assert (access(tmp_path).local_owner(), access(tmp_path).local_agent()) == (owner, agent)


def test_an_expired_token_is_none_and_no_last_administrator(tmp_path: Path) -> None:
    clock = Watch()
    here = Access(tmp_path, {}, clock)
    owner = here.local_owner()
    _, secret = here.add(owner, "ada", [ADMIN], (), KeyLimits(expires="2033-05-18T03:34:20Z"))
    here.add(owner, "tom", [ADMIN], (), KeyLimits(tenant="acme"))
    assert valid(here, secret)
    clock.now += 60
    assert not valid(here, secret)
    with pytest.raises(AccessError, match="last key"):
        here.revoke(owner, here.list_tokens()[0].id)
    with pytest.raises(AccessError, match="over already"):
        here.add(owner, "eve", [CALL], (), KeyLimits(expires="2033-05-18T03:34:20Z"))
