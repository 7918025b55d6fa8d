"""Credentials are read from what a definition says; values never show, and a secret that was written out is recognised."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.credentials import (
    NOTHING,
    BadCredentials,
    CallSecrets,
    Requirements,
    SecretRef,
    is_literal_secret,
    is_secret_name,
    read_credentials,
    read_requirements,
)

ENV = {"source": "env", "name": "TOKEN"}


def test_nothing_written_is_no_credentials() -> None:
    assert read_credentials(None) is NOTHING
    assert read_credentials({}).scheme == "none"


def test_a_key_in_a_query_is_called_as_its_header_would_be_unless_it_says_otherwise() -> None:
    written = {"scheme": "api-key", "header": "X-Key", "x-in": "query", **ENV}
    assert (read_credentials(written).place, read_credentials(written).place_name) == ("query", "X-Key")
    assert read_credentials({**written, "x-name": "key"}).place_name == "key"


def test_a_secret_is_looked_for_only_where_a_scheme_shows_one() -> None:
    assert read_credentials({"scheme": "bearer-token", **ENV}).ref == SecretRef("env", name="TOKEN")
    assert read_credentials({"scheme": "oauth2", "function_id": "broker", **ENV}).ref is None
    own = read_credentials({"scheme": "oauth2", "x-token-url": "https://a.example/token", **ENV})
    assert own.ref is not None and own.label == "TOKEN"


def test_a_stage_of_a_secret_is_read() -> None:
    written = {"scheme": "bearer-token", "source": "aws_secrets_manager", "secret_id": "s", "x-version-stage": "OLD"}
    ref = read_credentials(written).ref
    assert ref is not None and ref.version_stage == "OLD"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ([], "'credentials' must be an object"),
        ({"scheme": "magic"}, "scheme"),
        ({"scheme": "bearer-token", "x-in": "query", **ENV}, "'x-in' is for the scheme api-key"),
        ({"scheme": "api-key", "x-in": "cookie", "x-encode": "basic", **ENV}, "is for a header"),
        ({"scheme": "none", "x-and": {}}, "must be a list"),
        ({"scheme": "none", "x-and": [{"scheme": "iam-role"}]}, "api-key or bearer-token"),
        ({"scheme": "none", "x-and": [{"scheme": "api-key", "x-and": []}]}, "must not have 'x-and' themselves"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_member(written: Any, told: str) -> None:
    with pytest.raises(BadCredentials, match=told):
        read_credentials(written)


def test_credentials_beside_others_are_read_too() -> None:
    read = read_credentials({"scheme": "bearer-token", **ENV, "x-and": [{"scheme": "api-key", "header": "K", **ENV}]})
    assert [(each.scheme, each.header) for each in read.others] == [("api-key", "K")]


@pytest.mark.parametrize(
    ("ref", "label", "absent"),
    [
        (SecretRef("env", name="A", key="ignored"), "A", ()),
        (SecretRef("aws_secrets_manager", secret_id="s", key="k"), "s#k", ()),
        (SecretRef("gcp_secret_manager", project="p", secret="s"), "p/s", ()),
        (SecretRef("azure_key_vault", vault_url="https://v/", secret_name="n"), "https://v/n", ()),
        (SecretRef("azure_key_vault", secret_name="n"), "/n", ("vault_url",)),
    ],
)
def test_a_secret_is_called_by_its_place(ref: SecretRef, label: str, absent: tuple[str, ...]) -> None:
    assert (ref.label, ref.absent) == (label, absent)


def test_what_is_handed_over_shows_its_names_alone() -> None:
    handed = CallSecrets(b="long-secret", a="abc")
    assert repr(handed) == "CallSecrets(a, b)"
    assert handed.secrets == {"long-secret"}, "a value of three letters would blot out other texts"


@pytest.mark.parametrize(
    "name", ["emailApiKey", "API_KEY", "password", "client-secret", "accesskey", "HTTPAuthorization"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["maxTokens", "key", "public_key", "secretary", "", "--", "token_count"])
def test_names_that_only_look_like_those_of_secrets_are_not(name: str) -> None:
    assert is_secret_name(name) is False


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("password", "hunter2", True),
        ("password", "${PASSWORD}", False),
        ("password", "  ", False),
        ("password", 5, False),
        ("url", "postgres://ada:pw@db/x", True),
        ("url", "https://db.example/x", False),
        ("note", "sk-123", True),
        ("note", "AKIA1234", True),
        ("note", "eyJhbGciOi.x", True),
    ],
)
def test_a_secret_that_was_written_out_is_recognised(name: str, value: object, is_secret: bool) -> None:
    assert is_literal_secret(name, value) is is_secret


def test_requirements_of_one_provider_are_put_together() -> None:
    written = {
        "secrets": [{"id": "a"}, {"id": 5}, "b"],
        "authorization": [
            {"id": "google", "oauth2": {"scopes": ["mail", "files"]}},
            {"id": "google", "oauth2": {"scopes": ["files", 5, "calendar"]}},
            {"id": "plain"},
        ],
        "user_id": True,
    }
    read = read_requirements(written)
    assert read == Requirements(frozenset({"a"}), {"google": ("mail", "files", "calendar"), "plain": ()}, True)
    assert read.is_anything


@pytest.mark.parametrize("written", [None, [], {}, {"user_id": "yes"}, {"secrets": "a"}])
def test_what_asks_for_nothing_requires_nothing(written: Any) -> None:
    assert not read_requirements(written).is_anything
