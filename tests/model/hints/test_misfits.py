"""Messages about values that do not fit are for whoever wrote them."""

from __future__ import annotations

import pytest

from ferrule.model.hints import in_words, key_of


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
        ("Expected `array` of length >= 1 - at `$.a`", "Expected `array` of length >= 1 - at `$.a`", "a"),
        ("something else", "something else", ""),
    ],
)
def test_what_does_not_fit_is_told_in_words(message: str, words: str, key: str) -> None:
    assert (in_words(message), key_of(message)) == (words, key)
