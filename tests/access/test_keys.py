"""Who is calling: tokens are made on first use, stored as digests, and end at once when they are revoked."""

from __future__ import annotations

import getpass
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.access.keys import Access
from ferrule.access.tokens import Limits
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity


def access(root: Path, **environment: str) -> Access:
    return Access(root, environment)


def keys(root: Path) -> Path:
    return root / ".ferrule" / "keys"


def test_a_workspace_begins_with_an_owner_and_its_agents(tmp_path: Path) -> None:
    owner, agent = access(tmp_path).local_owner(), access(tmp_path).local_agent()
    assert owner.principal == getpass.getuser()
    assert owner.scopes == {APPROVE, ADMIN}
    assert agent.scopes == {CALL}
    assert owner.channel != agent.channel
    for name in ("tokens.json", "owner.token", "agent.token", "tokens.lock"):
        assert (keys(tmp_path) / name).stat().st_mode & 0o777 == 0o600
    assert (keys(tmp_path) / ".gitignore").read_text() == "*\n"


def test_only_digests_are_in_the_list(tmp_path: Path) -> None:
    here = access(tmp_path)
    _, secret = here.add(here.local_owner(), "ada", [APPROVE], ["finance"])
    text = (keys(tmp_path) / "tokens.json").read_text()
    tail = secret.split("_", 2)[2]
    assert tail not in text
    assert (keys(tmp_path) / "owner.token").read_text().strip() not in text
    assert {token["person"] for token in json.loads(text)["tokens"]} == {getpass.getuser(), "agents", "ada"}


def test_a_token_tells_person_scopes_groups_and_channel(tmp_path: Path) -> None:
    here = access(tmp_path)
    token, secret = here.add(here.local_owner(), "ada", [APPROVE], ["finance"])
    expected = Identity("ada", f"token:{token.id}", frozenset({APPROVE}), frozenset({"finance"}))
    assert access(tmp_path).authenticate(secret) == expected
    assert access(tmp_path, FERRULE_TOKEN=secret).local_owner() == expected


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


@given(st.text(max_size=60))
def test_no_other_text_is_a_token(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    here = access(tmp_path_factory.getbasetemp() / "guessing")
    here.prepare()
    with pytest.raises(AccessError, match="not valid"):
        here.authenticate(text)
    owner = here.tokens()[0]
    with pytest.raises(AccessError, match="not valid"):
        here.authenticate(f"frl_{owner.id}_{text}")


def test_tokens_and_names_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    here = access(tmp_path)
    owner = here.local_owner()
    here.add(owner, "ada", [APPROVE])
    cases: list[tuple[str, list[str], list[str], str]] = [
        ("ada", [], [], "needs a scope"),
        ("ada", ["aprove"], [], "approve"),
        ("", [CALL], [], "no name"),
        ("group:finance", [CALL], [], "no name"),
        ("a\nb", [CALL], [], "no name"),
        ("bob", [CALL], ["group:finance"], "no name"),
        ("ADA", [CALL], [], "'ada' already"),
    ]
    for name, scopes, groups, message in cases:
        with pytest.raises(AccessError, match=message):
            here.add(owner, name, scopes, groups)
    assert len(here.tokens()) == 3


def test_only_the_admin_scope_changes_tokens(tmp_path: Path) -> None:
    here = access(tmp_path)
    for identity in (here.local_agent(), Identity("ada", "token:x", frozenset({APPROVE}))):
        with pytest.raises(AccessError, match="admin scope"):
            here.add(identity, "eve", [ADMIN])
        with pytest.raises(AccessError, match="admin scope"):
            here.revoke(identity, here.tokens()[0].id)


def test_the_last_admin_cannot_lock_everybody_out(tmp_path: Path) -> None:
    here = access(tmp_path)
    owner = here.local_owner()
    with pytest.raises(AccessError, match="last key"):
        here.revoke(owner, here.tokens()[0].id)
    here.add(owner, "ada", [ADMIN])
    here.revoke(owner, here.tokens()[0].id)
    with pytest.raises(AccessError, match="not valid"):
        here.local_owner()


def test_an_unknown_or_ambiguous_id_is_named(tmp_path: Path) -> None:
    here = access(tmp_path)
    for prefix in ("zzz", ""):
        with pytest.raises(AccessError, match="token list"):
            here.revoke(here.local_owner(), prefix)


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
    assert {token.id for token in access(tmp_path).tokens()} >= set(ids)
    assert len(access(tmp_path).tokens()) == 26


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
    token, first = here.add(owner, "bot", [CALL], ["x"], Limits(tenant="acme", role="clerk"))
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


def valid(here: Access, secret: str) -> bool:
    try:
        here.authenticate(secret)
    except AccessError:
        return False
    return True


def test_rotating_the_workspaces_own_tokens_keeps_commands_working(tmp_path: Path) -> None:
    here = access(tmp_path)
    owner, agent = here.local_owner(), here.local_agent()
    for token in here.tokens():
        here.rotate(here.local_owner(), token.id, 0)
    assert (access(tmp_path).local_owner(), access(tmp_path).local_agent()) == (owner, agent)


def test_an_expired_token_is_none_and_no_last_administrator(tmp_path: Path) -> None:
    clock = Watch()
    here = Access(tmp_path, {}, clock)
    owner = here.local_owner()
    _, secret = here.add(owner, "ada", [ADMIN], (), Limits(expires="2033-05-18T03:34:20Z"))
    here.add(owner, "tom", [ADMIN], (), Limits(tenant="acme"))
    assert valid(here, secret)
    clock.now += 60
    assert not valid(here, secret)
    with pytest.raises(AccessError, match="last key"):
        here.revoke(owner, here.tokens()[0].id)
    with pytest.raises(AccessError, match="over already"):
        here.add(owner, "eve", [CALL], (), Limits(expires="2033-05-18T03:34:20Z"))


def test_an_end_that_cannot_be_read_is_over(tmp_path: Path) -> None:
    here = access(tmp_path)
    _, secret = here.add(here.local_owner(), "ada", [CALL], (), Limits(expires="2999-01-01T00:00:00Z"))
    file = keys(tmp_path) / "tokens.json"
    file.write_text(file.read_text().replace("2999-01-01T00:00:00Z", "some day"))
    assert not valid(access(tmp_path), secret)


def test_local_people_cannot_have_names_of_people_from_elsewhere(tmp_path: Path) -> None:
    here = access(tmp_path)
    for name in ("corp|ada", "https://login.example.com|ada"):
        with pytest.raises(AccessError, match="no name"):
            here.add(here.local_owner(), name, [CALL])


def test_limits_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    here = access(tmp_path)
    for limits in (
        Limits(tenant=""),
        Limits(tenant=" acme"),
        Limits(agent="a\nb"),
        Limits(role=" "),
        Limits(surface=""),
    ):
        with pytest.raises(AccessError, match="odd spaces"):
            here.add(here.local_owner(), "ada", [CALL], (), limits)
