"""Messages about values that do not fit are for whoever wrote them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from ferrule.model.misfits import Misfit, describe_complaint, key_of, members_at, name_kinds, read_misfit


@pytest.mark.parametrize(
    ("message", "words", "key"),
    [
        ("Object contains unknown field `a`", "there is no key 'a'", "a"),
        ("Object contains unknown field `a` - at `$.b[0]`", "there is no key 'a' in b[0]", "a"),
        ("Object missing required field `a` - at `$.b[...]`", "b.* lacks 'a'", "b"),
        ("Object missing required field `a`", "it lacks 'a'", ""),
        ("Invalid enum value 'x' - at `$.a.b`", "a.b cannot be 'x'", "b"),
        ("Expected `int | null`, got `str` - at `$.x-a`", "x-a must be a whole number, not a text", "x-a"),
        ("Expected `int`, got `str`", "it must be a whole number, not a text", ""),
        ("Expected `int | str`, got `object` - at `$.a[0]`", "a[0] must be a whole number or a text, not a table", "a"),
        ("Expected `float` > 0 - at `$.a`", "a must be a number > 0", "a"),
        ("Expected `array` of length >= 1 - at `$.a`", "a must be a list of length >= 1", "a"),
        ("Object contains unknown field `` - at `$`", "there is no key ''", ""),
        ("Object contains unknown field `a b.c` - at `$.x`", "there is no key 'a b.c' in x", "a b.c"),
        ("something else", "something else", ""),
    ],
)
def test_what_does_not_fit_is_told_in_words(message: str, words: str, key: str) -> None:
    assert (describe_complaint(message), key_of(message)) == (words, key)


class _Inner(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    first_name: str
    level: Literal["low", "high"] = "low"
    size: Annotated[int, msgspec.Meta(ge=1)] = 1
    tag: Annotated[str, msgspec.Meta(pattern="^a")] = "a"


class _Outer(msgspec.Struct):
    inner: tuple[_Inner, ...] = ()
    named: dict[str, _Inner | None] = {}
    pair: tuple[int, _Inner] | None = None


@pytest.mark.parametrize(
    ("value", "misfit"),
    [
        (5, Misfit("type", "Expected `object`, got `int`", kinds=("object",), got="int")),
        (
            {"inner": [{}]},
            Misfit("missing_key", "Object missing required field `first-name`", ".inner[0]", key="first-name"),
        ),
        (
            {"named": {"x": {"first-name": "a", "no`pe": 1}}},
            Misfit("unknown_key", "Object contains unknown field `no`pe`", ".named[...]", key="no`pe"),
        ),
        (
            {"inner": [{"first-name": "a", "level": "mid"}]},
            Misfit("choice", "Invalid enum value 'mid'", ".inner[0].level", got="'mid'"),
        ),
        ({"named": []}, Misfit("type", "Expected `object`, got `array`", ".named", kinds=("object",), got="array")),
        (
            {"named": {"x": 1}},
            Misfit("type", "Expected `object | null`, got `int`", ".named[...]", kinds=("object", "null"), got="int"),
        ),
        (
            {"inner": [{"first-name": "a", "size": 0}]},
            Misfit("limit", "Expected `int` >= 1", ".inner[0].size", kinds=("int",), limit=">= 1"),
        ),
        (
            {"inner": [{"first-name": "a", "tag": "b"}]},
            Misfit(
                "limit",
                "Expected `str` matching regex '^a'",
                ".inner[0].tag",
                kinds=("str",),
                limit="matching regex '^a'",
            ),
        ),
    ],
)
def test_what_msgspec_says_today_is_understood(value: Any, misfit: Misfit) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, _Outer)
    assert read_misfit(caught.value) == misfit


def test_a_place_is_told_step_by_step() -> None:
    assert read_misfit("Expected `int`, got `str` - at `$.a-b[0][...].c`").steps == ("a-b", "0", "...", "c")
    assert read_misfit("Expected `int`, got `str`").steps == ()


def test_the_members_at_a_place_are_known_as_they_are_written() -> None:
    members = ["first-name", "level", "size", "tag"]
    for steps in (("inner", "3"), ("named", "..."), ("pair", "1")):
        assert members_at(_Outer, steps) == members
    assert members_at(_Outer, ()) == ["inner", "named", "pair"]
    assert members_at(_Outer, ("absent",)) == members_at(_Outer, ("inner", "0", "level")) == []


def test_types_are_named_in_the_words_of_whoever_reads_them() -> None:
    assert name_kinds(("int", "null")) == "a whole number or nothing"
    assert name_kinds(("object", "decimal"), {"object": "an object"}) == "an object or decimal"
