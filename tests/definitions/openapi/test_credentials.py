"""Security requirements become credentials whose secrets stand in environment variables."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.credentials import NONE, Security, ServiceAccess
from tests.definitions.openapi.operations import document_of, messages, operation_of

KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
BEARER = {"type": "http", "scheme": "bearer"}


def access(security: Any, client_id: str = "", **schemes: Any) -> tuple[ServiceAccess, list[str]]:
    document = document_of({"security": security}, components={"securitySchemes": schemes})
    found = Security(document, "PETS", client_id).resolve(operation_of(document).security, ("security",))
    return found, messages(document)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (KEY, {"scheme": "api-key", "header": "X-Key", "name": "PETS_MAIN_KEY"}),
        (
            {"type": "apiKey", "in": "query", "name": "k"},
            {"scheme": "api-key", "header": "k", "x-in": "query", "name": "PETS_MAIN_KEY"},
        ),
        (BEARER, {"scheme": "bearer-token", "name": "PETS_MAIN_TOKEN"}),
        (
            {"type": "http", "scheme": "Basic"},
            {
                "scheme": "api-key",
                "header": "Authorization",
                "x-encode": "basic",
                "name": "PETS_MAIN_USER_AND_PASSWORD",
            },
        ),
        ({"type": "openIdConnect"}, {"scheme": "bearer-token", "name": "PETS_MAIN_TOKEN"}),
    ],
)
def test_each_scheme_has_its_credentials(scheme: dict[str, Any], expected: dict[str, Any]) -> None:
    found, told = access([{"mainAuth": []}], mainAuth=scheme)
    assert found == ServiceAccess({**expected, "source": "env"}, ("mainAuth",))
    assert told == []


def test_tokens_of_a_client_name_where_they_come_from() -> None:
    flow = {"clientCredentials": {"tokenUrl": "https://id.example.com/token", "scopes": {}}}
    found, told = access([{"login": ["read"]}], "me", login={"type": "oauth2", "flows": flow})
    credentials = found.credentials
    assert (credentials["scheme"], credentials["x-token-url"]) == ("oauth2", "https://id.example.com/token")
    assert (credentials["x-client-id"], credentials["scopes"], told) == ("me", ["read"], [])
    _, told = access([{"login": []}], login={"type": "oauth2", "flows": flow})
    assert "which is a placeholder" in told[0]


def test_the_first_way_that_can_be_said_is_used_and_the_rest_is_told() -> None:
    found, told = access([{"odd": []}, {"key": []}, {"token": []}], odd={"type": "mutualTLS"}, key=KEY, token=BEARER)
    assert (found.refs, found.is_complete) == (("key",), True)
    assert told == ["the first supported way to authenticate is used; not: token"]


def test_two_schemes_at_once_are_shown_side_by_side() -> None:
    found, _ = access([{"key": [], "token": []}], key=KEY, token=BEARER)
    assert [found.credentials["scheme"], *(each["scheme"] for each in found.credentials["x-and"])] == [
        "api-key",
        "bearer-token",
    ]


def test_two_schemes_in_one_header_cannot_be_said() -> None:
    found, told = access([{"a": [], "b": []}], a=BEARER, b={"type": "http", "scheme": "basic"})
    assert not found.is_complete
    assert "which credentials cannot express" in told[0]


def test_a_scheme_that_is_not_there_makes_a_draft() -> None:
    found, told = access([{"gone": []}])
    assert (found.credentials, found.is_complete) == (NONE, False)
    assert told[0] == "there is no security scheme 'gone'"


def test_two_schemes_never_share_a_variable() -> None:
    found, _ = access([{"a-key": [], "a_key": []}], "", **{"a-key": KEY, "a_key": {**KEY, "name": "X-Other"}})
    names = {found.credentials["name"], *(each["name"] for each in found.credentials["x-and"])}
    assert names == {"PETS_A_KEY", "PETS_A_KEY_2"}


def test_nothing_is_needed_where_nothing_is_said() -> None:
    assert access([]) == (ServiceAccess(NONE), [])
