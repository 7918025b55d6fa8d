"""What tools are called: by the operation's id, or by its method and path."""

from __future__ import annotations

import pytest

from ferrule.definitions.openapi.names import MOST, build_name, is_plural, shorten_name, singularize, take_unique
from tests.definitions.openapi.operations import document_of, heading_of


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("listPets", "list_pets"),
        ("PetsAPI.list-all", "pets_api_list_all"),
        ("read_item_pets_get", "read_item"),
        ("宠物", "list_pets"),
        ("", "list_pets"),
    ],
)
def test_an_id_gives_the_name(operation_id: str, name: str) -> None:
    document = document_of({"operationId": operation_id}, method="get", path="/pets")
    assert build_name(heading_of(document)) == name


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/api/v1/pets", "list_pets"),
        ("get", "/status", "get_status"),
        ("get", "/pets/{id}", "get_pet"),
        ("post", "/pets", "create_pet"),
        ("post", "/pets/{id}/adopt", "adopt_pet"),
        ("put", "/pets/{id}", "replace_pet"),
        ("delete", "/pets", "delete_pets"),
        ("get", "/pets/{id}/toys", "list_pet_toys"),
        ("get", "/", "get_root"),
        ("get", "/{tenant}", "get_tenant"),
        ("get", "/v2", "get_v2"),
    ],
)
def test_without_an_id_method_and_path_give_the_name(method: str, path: str, name: str) -> None:
    assert build_name(heading_of(document_of(method=method, path=path))) == name


def test_a_name_is_neither_too_long_nor_too_short() -> None:
    first, second = shorten_name("a" * 80 + "b"), shorten_name("a" * 80 + "c")
    assert len(first) == len(second) == 64 and first != second
    assert shorten_name("x") == "call_x"
    assert shorten_name("?") == "call_operation"


def test_a_taken_name_gets_a_number() -> None:
    taken: set[str] = set()
    assert [take_unique("get_pet", taken, MOST) for _ in range(3)] == ["get_pet", "get_pet_2", "get_pet_3"]
    assert [len(take_unique("x" * 64, taken, MOST)) for _ in range(2)] == [64, 64]


@pytest.mark.parametrize(
    ("word", "one"),
    [
        ("pets", "pet"),
        ("cities", "city"),
        ("boxes", "box"),
        ("status", "status"),
        ("news", "news"),
        ("address", "address"),
    ],
)
def test_plurals_are_told_by_their_endings(word: str, one: str) -> None:
    assert singularize(word) == one
    assert is_plural(word) is (word != one)
