"""Words for models: names made readable, and long texts cut where a reader would cut them."""

from __future__ import annotations

import pytest

from ferrule.definitions.openapi.wording import as_sentence, bounded, joined, shown, spoken, words_of


@pytest.mark.parametrize("name", ["petId", "pet-id", "PetID", "pet_id", "Pet Id"])
def test_a_name_falls_into_its_words(name: str) -> None:
    assert words_of(name) == ("pet", "id")


def test_a_name_is_spoken_as_a_sentence() -> None:
    assert spoken("customerId") == "Customer id."
    assert spoken("$$") == "The member '$$'."


def test_a_long_text_is_cut_after_a_sentence_or_a_word() -> None:
    assert bounded("One sentence. Another one that goes on.", 25) == "One sentence."
    assert bounded("no sentences here at all", 12) == "no…"
    assert bounded("  short  ", 12) == "short"


@pytest.mark.parametrize(("text", "ended"), [("Says", "Says."), ("Asks?", "Asks?"), ("- a\n- b", "- a\n- b"), ("", "")])
def test_a_text_ends_like_a_sentence(text: str, ended: str) -> None:
    assert as_sentence(text) == ended


def test_sentences_are_put_behind_a_description() -> None:
    assert joined("Says", ["More."]) == "Says. More."
    assert joined("- a\n- b", ["More."]) == "- a\n- b\nMore."
    assert joined("", ["More.", "Again."]) == "More. Again."
    assert joined("Says", []) == "Says"


def test_a_value_is_shown_only_when_it_is_short_json() -> None:
    assert shown({"a": "ü"}) == '{"a": "ü"}'
    assert shown("x" * 300) == ""
    assert shown({1, 2}) == ""
