"""`ferrule key`: made, listed, rotated and revoked; `ferrule token` is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrule.access.keys import Access
from ferrule.errors import AccessError
from ferrule.model.approval import CALL
from tests.cli.run import Ran, ferrule


def key(folder: Path, *words: str) -> Ran:
    (folder / "ferrule.toml").touch()
    return ferrule("key", *words, folder=folder)


def listed(folder: Path) -> dict[str, dict[str, object]]:
    return {entry["person"]: entry for entry in json.loads(key(folder, "list", "--json").out)}


def test_a_key_is_made_with_what_it_is_bound_to(tmp_path: Path) -> None:
    made = key(tmp_path, "add", "bot", "--tenant", "acme", "--agent", "desk", "--role", "clerk", "--group", "support",
               "--expires", "90d", "--json")  # fmt: skip
    assert made.code == 0, made
    record = json.loads(made.out)
    identity = Access(tmp_path).authenticate(record["secret"])
    assert (identity.principal, identity.scopes, identity.tenant) == ("bot", frozenset({CALL}), "acme")
    entry = listed(tmp_path)["bot"]
    assert (entry["tenant"], entry["agent"], entry["role"], entry["groups"]) == ("acme", "desk", "clerk", ["support"])
    assert entry["expires"] == record["expires"] and entry["last_used"] is None
    assert not {"digest", "previous", "secret"} & set(entry)
    shown = key(tmp_path, "list").out
    assert "tenant acme, agent desk, role clerk" in shown and f"valid until {record['expires']}" in shown
    assert record["secret"] not in shown


def test_a_key_is_printed_alone_on_standard_output(tmp_path: Path) -> None:
    made = key(tmp_path, "add", "bot")
    assert Access(tmp_path).authenticate(made.out.strip()).principal == "bot"
    assert made.out.count("\n") == 1 and "shown this once" in made.err


def test_a_key_for_a_role_that_is_not_there_is_made_and_told_of(tmp_path: Path) -> None:
    assert ferrule("init", ".", folder=tmp_path).code == 0
    assert ferrule("build", folder=tmp_path).code == 0
    made = key(tmp_path, "add", "bot", "--role", "support-rol", "--agent", "nobody")
    assert (
        "there is no role 'support-rol' in the catalog, so the key is refused until there is; did you mean" in made.err
    )
    assert "there is no agent 'nobody' in the catalog" in made.err
    assert Access(tmp_path).authenticate(made.out.strip()).principal == "bot"
    assert "note:" not in key(tmp_path, "add", "other", "--role", "support-role").err
    assert "note:" not in key(tmp_path, "add", "third", "--agent", "reporter").err  # of an ADL file


def test_a_key_for_a_role_that_is_not_built_yet_goes_by_the_definitions(tmp_path: Path) -> None:
    assert ferrule("init", ".", folder=tmp_path).code == 0
    told = key(tmp_path, "add", "bot", "--role", "support-rol", "--surface", "desk").err
    assert "no role 'support-rol' in the catalog" in told
    assert "did you mean 'support-role'? it has the roles support-role" in told
    assert "no surface 'desk' in the catalog, so the key is refused until there is; it has" in told
    assert "note:" not in key(tmp_path, "add", "other", "--role", "support-role").err


def test_a_token_that_has_ended_is_told_by_its_place(tmp_path: Path) -> None:
    number = next(str(entry["id"]) for entry in listed(tmp_path).values() if entry["person"] == "agents")
    key(tmp_path, "revoke", number)
    with pytest.raises(
        AccessError, match=r"the token in \.ferrule/keys/agent\.token is not valid here; .*key add NAME"
    ):
        Access(tmp_path).local_agent()
    with pytest.raises(
        AccessError, match="the token in FERRULE_TOKEN is not valid here; unset it, or set it to a valid one"
    ):
        Access(tmp_path, {"FERRULE_TOKEN": "frl_1_2"}).local_owner()


def test_a_rotated_key_has_a_new_secret_and_the_old_one_a_while(tmp_path: Path) -> None:
    old = key(tmp_path, "add", "bot").out.strip()
    number = old.split("_")[1]
    turned = key(tmp_path, "rotate", number, "--grace", "1h")
    assert turned.code == 0 and "the old secret counts until" in turned.err
    access = Access(tmp_path)
    assert access.authenticate(old) == access.authenticate(turned.out.strip())
    assert "the old secret has ended" in key(tmp_path, "rotate", number, "--grace", "0").err
    for secret in (old, turned.out.strip()):
        with pytest.raises(AccessError, match="not valid"):
            access.authenticate(secret)
    assert key(tmp_path, "revoke", number).out == f"revoked key {number} of bot\n"
    assert f"the key {number} of bot has ended" in key(tmp_path, "rotate", number).err
    assert f"the key {number} of bot was revoked" in key(tmp_path, "revoke", number).err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "bot", "--expires", "soon"), "no time"),
        (("add", "bot", "--expires", "2001-01-01"), "over already"),
        (("add", "bot", "--scope", "everything"), "everything"),
        (("add", "corp|ada"), "no name"),
        (("rotate", "nope"), "there is no key 'nope'"),
        (("rotate", "nope", "--grace", "long"), "no length of time"),
    ],
    ids=["no time", "over", "scope", "foreign name", "unknown", "grace"],
)  # fmt: skip
def test_what_makes_no_sense_is_said_in_a_sentence(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    ran = key(tmp_path, *words)
    assert ran.code != 0 and told in ran.err and "Traceback" not in ran.err


def test_keys_are_listed_for_administrators_and_those_of_a_tenant_for_its_own(tmp_path: Path) -> None:
    agent = key(tmp_path, "add", "bot").out.strip()
    admin = key(tmp_path, "add", "ann", "--scope", "admin", "--tenant", "acme").out.strip()
    refused = ferrule("key", "list", folder=tmp_path, environment={"FERRULE_TOKEN": agent})
    assert (refused.code, refused.out) == (2, "") and "does not hold the admin scope" in refused.err
    shown = ferrule("key", "list", "--json", folder=tmp_path, environment={"FERRULE_TOKEN": admin})
    assert [entry["person"] for entry in json.loads(shown.out)] == ["ann"]
    assert {"ann", "bot", "agents"} < set(listed(tmp_path))
