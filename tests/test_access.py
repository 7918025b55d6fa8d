"""Who is calling: tokens are made on first use, stored as digests, and end at once when they are revoked."""

from __future__ import annotations

import getpass
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.access import Access
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
    with pytest.raises(AccessError, match="last token"):
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
