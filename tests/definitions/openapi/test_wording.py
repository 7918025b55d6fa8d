"""Words for models: names made readable, and long texts cut where a reader would cut them."""

from __future__ import annotations

import pytest

from ferrule.definitions.openapi.wording import (
    append_sentences,
    end_sentence,
    format_value,
    humanize,
    shorten_text,
    split_words,
)


@pytest.mark.parametrize("name", ["petId", "pet-id", "PetID", "pet_id", "Pet Id"])
def test_a_name_falls_into_its_words(name: str) -> None:
    assert split_words(name) == ("pet", "id")


def test_a_name_is_spoken_as_a_sentence() -> None:
    assert humanize("customerId") == "Customer id."
    assert humanize("$$") == "The member '$$'."


def test_a_long_text_is_cut_after_a_sentence_or_a_word() -> None:
    assert shorten_text("One sentence. Another one that goes on.", 25) == "One sentence."
    assert shorten_text("no sentences here at all", 12) == "no…"
    assert shorten_text("  short  ", 12) == "short"


@pytest.mark.parametrize(("text", "ended"), [("Says", "Says."), ("Asks?", "Asks?"), ("- a\n- b", "- a\n- b"), ("", "")])
def test_a_text_ends_like_a_sentence(text: str, ended: str) -> None:
    assert end_sentence(text) == ended


def test_sentences_are_put_behind_a_description() -> None:
    assert append_sentences("Says", ["More."]) == "Says. More."
    assert append_sentences("- a\n- b", ["More."]) == "- a\n- b\nMore."
    assert append_sentences("", ["More.", "Again."]) == "More. Again."
    assert append_sentences("Says", []) == "Says"


def test_a_value_is_shown_only_when_it_is_short_json() -> None:
    assert format_value({"a": "ü"}) == '{"a": "ü"}'
    assert format_value("x" * 300) == ""
    assert format_value({1, 2}) == ""
