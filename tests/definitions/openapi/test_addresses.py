"""Where an operation is reached: which server is taken, how its variables are filled in, and what a relative one becomes."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.addresses import NOWHERE, Addresses
from ferrule.definitions.openapi.read import OpenApi
from tests.definitions.openapi.operations import document_of, messages, operation_of

TWO = [{"url": "https://one.example.com/v1/"}, {"url": "https://two.example.com", "description": "spare"}]


def resolve_address(document: OpenApi, *, source: str = "", chosen: str = "", **variables: str) -> tuple[str, bool]:
    address = Addresses(document, source, chosen, variables).resolve(operation_of(document).servers)
    return address.url, address.is_known


@pytest.mark.parametrize(
    ("chosen", "url"),
    [
        ("", "https://one.example.com/v1"),
        ("2", "https://two.example.com"),
        ("spare", "https://two.example.com"),
        ("9", "https://one.example.com/v1"),
        ("0000012", "https://one.example.com/v1"),
        ("1" * 5_000, "https://one.example.com/v1"),
        ("HTTPS://Other.example.com/x/", "https://Other.example.com/x"),
    ],
)
def test_a_server_is_chosen_by_number_by_words_or_by_another_address(chosen: str, url: str) -> None:
    assert resolve_address(document_of(servers=TWO), chosen=chosen) == (url, True)


def test_the_first_of_several_servers_is_taken_and_the_others_are_told() -> None:
    document = document_of(servers=TWO)
    resolve_address(document)
    assert messages(document) == ["the first of several servers is used; not: https://two.example.com"]


@pytest.mark.parametrize(
    ("variables", "given", "url"),
    [
        ({"stage": {"default": "live"}}, {}, "https://live.example.com"),
        ({"stage": {"enum": ["test", "live"]}}, {}, "https://test.example.com"),
        ({"stage": {"default": "live"}}, {"stage": "mine"}, "https://mine.example.com"),
    ],
)
def test_variables_are_filled_in(variables: dict[str, Any], given: dict[str, str], url: str) -> None:
    document = document_of(servers=[{"url": "https://{stage}.example.com", "variables": variables}])
    assert resolve_address(document, **given) == (url, True)
    assert not document.findings


def test_a_variable_without_a_default_is_told() -> None:
    document = document_of(servers=[{"url": "https://{stage}.example.com"}])
    assert resolve_address(document) == ("https://stage.example.com", True)
    assert messages(document) == ["the variable 'stage' of the server has no default"]


def test_a_relative_address_begins_where_the_document_comes_from() -> None:
    document = document_of(servers=[{"url": "../v2"}])
    assert resolve_address(document, source="https://example.com/docs/api/openapi.json") == (
        "https://example.com/docs/v2",
        True,
    )


def test_without_a_host_the_address_is_made_up_and_known_to_be() -> None:
    document = document_of(servers=[{"url": "/v2/"}])
    assert resolve_address(document) == (f"{NOWHERE}/v2", False)
    assert "does not name the service's host" in messages(document)[0]


def test_an_address_is_written_in_characters_that_it_may_have() -> None:
    document = document_of(servers=[{"url": "https://bücher.example:8080/a b/#part"}])
    assert resolve_address(document) == ("https://xn--bcher-kva.example:8080/a%20b", True)
