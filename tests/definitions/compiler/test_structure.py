"""What the tables of structural rules say besides the finding: hints that fit the value they are about."""

from __future__ import annotations

from ferrule.contracts.expect import matching, one_of, string
from ferrule.contracts.rule import Closed, Required, Row, RuleSettings, Subject
from ferrule.definitions.compiler.structure import check_structure
from ferrule.model.document import Document, Source
from ferrule.model.value import JsonValue

ROWS = (
    Row("", Closed(frozenset({"colour", "size", "name"}), elsewhere=frozenset({"nome"})), "X-1"),
    Row("colour", Required(), "X-2"),
    Row("colour", one_of("red", "green"), "X-2", hint="pick a colour", hints={"scarlet": "it is now called red"}),
    Row("size", matching("[0-9]+ cm", "a length such as `5 cm`"), "X-3"),
    Row("name", Required(), "X-4"),
    Row("name", string(), "X-4"),
)


def _hints(value: dict[str, JsonValue]) -> dict[str, str | None]:
    document = Document(Source("x.yaml", b""), "yaml", "", 1, value)
    subject = Subject("x", document, value, RuleSettings(today="2026-05-01"))
    check_structure(subject, ROWS)
    return {str(finding.path[0]): finding.hint for finding in subject.findings}


def test_a_misspelt_word_gets_the_nearest_one() -> None:
    assert _hints({"colour": "gren", "name": ""})["colour"] == "did you mean 'green'?"


def test_a_word_in_other_letters_gets_the_right_ones() -> None:
    assert _hints({"colour": "RED"})["colour"] == "did you mean 'red'?"


def test_a_word_the_table_knows_gets_what_the_table_says() -> None:
    assert _hints({"colour": "scarlet"})["colour"] == "it is now called red"


def test_any_other_value_gets_the_hint_of_the_row() -> None:
    assert _hints({"colour": "xyz"})["colour"] == "pick a colour"
    assert _hints({"colour": 5})["colour"] == "pick a colour"


def test_a_missing_value_is_told_by_what_is_expected_of_it() -> None:
    assert _hints({}) == {"colour": "it must be one of red, green", "name": None}


def test_an_unknown_key_with_nothing_near_is_told_the_known_ones() -> None:
    hints = _hints({"colour": "red", "name": "x", "zz": 1})
    assert hints == {"zz": "the keys here are colour, name, size"}


def test_a_key_another_rule_speaks_about_is_neither_reported_nor_suggested() -> None:
    hints = _hints({"colour": "red", "name": "x", "nome": "y", "noome": "z"})
    assert hints == {"noome": "did you mean 'name'?"}
