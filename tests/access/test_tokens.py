"""What a token may be: names, scopes and limits that make no sense are refused, and digests alone are kept."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.access.tokens import KeyLimits
from ferrule.errors import AccessError
from ferrule.model.approval import APPROVE, CALL, Identity
from tests.access.opened import access, keys, valid


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


@given(st.text(max_size=60))
def test_no_other_text_is_a_token(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    here = access(tmp_path_factory.getbasetemp() / "guessing")
    here.prepare()
    with pytest.raises(AccessError, match="not valid"):
        here.authenticate(text)
    owner = here.list_tokens()[0]
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
    assert len(here.list_tokens()) == 3


def test_an_unknown_or_ambiguous_id_is_named(tmp_path: Path) -> None:
    here = access(tmp_path)
    for prefix in ("zzz", ""):
        with pytest.raises(AccessError, match="token list"):
            here.revoke(here.local_owner(), prefix)


def test_an_end_that_cannot_be_read_is_over(tmp_path: Path) -> None:
    here = access(tmp_path)
    _, secret = here.add(here.local_owner(), "ada", [CALL], (), KeyLimits(expires="2999-01-01T00:00:00Z"))
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
        KeyLimits(tenant=""),
        KeyLimits(tenant=" acme"),
        KeyLimits(agent="a\nb"),
        KeyLimits(role=" "),
        KeyLimits(surface=""),
    ):
        with pytest.raises(AccessError, match="odd spaces"):
            here.add(here.local_owner(), "ada", [CALL], (), limits)
