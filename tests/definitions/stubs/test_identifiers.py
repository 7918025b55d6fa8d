"""Identifiers are legal, all different, always the same, and depend on other names only where they clash."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ferrule.definitions.stubs.identifiers import (
    ACRONYMS,
    Style,
    camel,
    capitalize,
    identifiers,
    pascal,
    snake,
    split_words,
)

KEYWORDS = frozenset({"class", "def", "type", "None", "self", "Type", "GET", "class_", "u27700", "empty"})
STYLES = {case.__name__: Style(case, KEYWORDS) for case in (pascal, camel, snake)}
_LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_names = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="aA1_- é水\ud800", max_size=6),
    st.sampled_from(
        ["class", "class_", "user-id", "user_id", "userId", "UserID", "", " ", "_", "__", "2fa", "nfa", "水", "\n"]
    ),
    st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x10FFFF), max_size=5),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_user_id", ("get", "user", "id")),
        ("getUserID", ("get", "user", "id")),
        ("GetHTTPResponse", ("get", "http", "response")),
        ("user-id", ("user", "id")),
        ("v2beta", ("v2", "beta")),
        ("2fa", ("2fa",)),
        ("größe", ("grosse",)),
        ("été", ("ete",)),
        ("水", ("u27700",)),
        ("", ("empty",)),
        ("_", ("underscore",)),
        ("--", ("dash", "dash")),
        ("\n", ("u10",)),
        ("\ud800", ("u55296",)),
    ],
)
def test_words(name: str, expected: tuple[str, ...]) -> None:
    assert split_words(name) == expected


def test_adl_42_acronyms_are_in_capitals() -> None:
    assert pascal(split_words("get_user_id")) == "GetUserID"
    assert camel(split_words("get_user_id")) == "getUserID"
    assert pascal(split_words("parse_k8s_url"), ACRONYMS | {"k8s"}) == "ParseK8SURL"
    assert snake(split_words("getUserID")) == "get_user_id"


def test_a_digit_is_never_first_but_may_go_on() -> None:
    assert [pascal(("2fa",)), camel(("2fa",)), snake(("2fa",))] == ["N2fa", "n2fa", "n2fa"]
    assert capitalize(("2fa", "id")) == "2faID"


def test_a_clash_is_settled_for_the_plain_name() -> None:
    style = Style(snake)
    assert identifiers(["user-id", "user_id"], style) == {"user-id": "user_dash_id", "user_id": "user_id"}
    assert identifiers(["userId", "user_id", "user id"], Style(pascal))["user_id"] == "UserID"


def test_keywords_get_a_mark_unless_a_name_is_spelled_like_it() -> None:
    style = Style(snake, frozenset({"class"}))
    assert identifiers(["class", "klass"], style) == {"class": "class_", "klass": "klass"}
    assert identifiers(["class", "class_"], style)["class_"] == "class_"


def test_long_names_stay_short_and_apart() -> None:
    found = identifiers(["a" * 5000, "a" * 5001, "a" * 5000 + "b"], Style(snake, longest=60))
    assert len(set(found.values())) == 3 and all(len(each) <= 70 for each in found.values())


@pytest.mark.parametrize("case", STYLES)
@given(
    names=st.lists(_names, max_size=12),
    taken=st.sets(st.sampled_from(["a", "A", "user_id", "UserID", "class__", "empty_"])),
)
@example(names=["\ud800", "\\ud800", "u55296"], taken=set())
@example(names=["class", "class_", "Class", "CLASS"], taken={"class_"})
def test_identifiers_are_legal_different_and_free(case: str, names: list[str], taken: set[str]) -> None:
    found = identifiers(names, STYLES[case], taken)
    assert list(found) == list(dict.fromkeys(names))
    assert all(_LEGAL.fullmatch(each) for each in found.values())
    assert len(set(found.values())) == len(found)
    assert taken.isdisjoint(found.values()) and KEYWORDS.isdisjoint(found.values())
    assert identifiers(names, STYLES[case], taken) == found


@pytest.mark.parametrize("case", STYLES)
@given(names=st.lists(_names, max_size=8, unique=True))
def test_a_name_without_rivals_is_called_by_its_own_words(case: str, names: list[str]) -> None:
    style = STYLES[case]
    wanted = [style.make(name) for name in names]
    found = identifiers(names, style)
    for name, want in zip(names, wanted, strict=True):
        if wanted.count(want) == 1:
            assert found[name] == want


@given(names=st.lists(_names, max_size=8, unique=True))
def test_their_order_does_not_matter(names: list[str]) -> None:
    style = STYLES["camel"]
    assert identifiers(names, style) == identifiers(sorted(names), style)
