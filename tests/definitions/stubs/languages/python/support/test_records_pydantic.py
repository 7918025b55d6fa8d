"""Records as pydantic models: what is left out stays left out."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from ferrule.definitions.stubs.languages.python.support.layouts import Layout, Member
from ferrule.definitions.stubs.languages.python.support.records_pydantic import is_record, made, members_of


class Pet(BaseModel):
    """A record as stubs have it."""

    model_config = ConfigDict(extra="allow")
    name: str
    age: int | None = None
    owner: str | None = None


LAYOUT = Layout(
    made_of=Pet,
    members=(
        Member("pet-name", "name", "required", "str"),
        Member("age", "age", "optional", "int"),
        Member("owner", "owner", "three", ["nullable", "str"]),
    ),
    extra="model_extra",
    extra_shape="any",
    tag=None,
)


def wires(value: Any) -> dict[str, Any]:
    return {member.wire: item for member, item in members_of(LAYOUT, value)}


def test_members_that_are_left_out_are_not_written() -> None:
    assert wires(Pet(name="Rex")) == {"pet-name": "Rex"}
    assert wires(Pet(name="Rex", age=None, owner=None)) == {"pet-name": "Rex", "owner": None}


def test_an_object_is_made_of_what_was_read() -> None:
    pet = made(LAYOUT, {"name": "Rex", "owner": None}, {"size": 3})
    assert is_record(pet) and isinstance(pet, Pet)
    assert (pet.name, pet.age, pet.model_fields_set) == ("Rex", None, {"name", "owner"})
    assert wires(pet) == {"pet-name": "Rex", "owner": None, "size": 3}


def test_an_extra_member_never_takes_the_place_of_a_named_one() -> None:
    pet = made(LAYOUT, {"name": "Rex"}, {"pet-name": "other"})
    assert wires(pet) == {"pet-name": "Rex"}


def test_a_dict_is_no_record() -> None:
    assert not is_record({"name": "Rex"})
