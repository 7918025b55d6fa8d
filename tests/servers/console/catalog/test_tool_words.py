"""Words on pages about tools: what a tool does, and texts on one line."""

from __future__ import annotations

import pytest

from ferrule.servers.console.catalog.tool_words import address_of, effect_of, effect_words, first_sentence, one_line


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"is_read_only": True}, "reads"),
        ({"is_read_only": False}, "writes"),
        ({"is_destructive": True}, "cannot be undone"),
        ({"is_read_only": "input.dry_run"}, "depends on its input"),
        ({"requires_user_interaction": True, "is_read_only": True}, "asks a person"),
    ],
)
def test_what_a_tool_does_is_told_by_its_facts(facts: dict[str, object], words: str) -> None:
    whole = {"is_read_only": False, "is_destructive": False, "requires_user_interaction": False, **facts}
    assert effect_of(whole) == words


def test_a_tool_that_writes_and_was_only_inferred_to_is_not_said_to_be_undoable() -> None:
    assert effect_words("writes", is_inferred=True) == "writes, undo not stated"
    assert effect_words("writes", is_inferred=False) == "writes"
    assert effect_words("destroys", is_inferred=True) == "cannot be undone"


def test_a_long_text_is_cut_to_one_line_and_says_so() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    cut = one_line("word " * 100, 20)
    assert len(cut) <= 20 and cut.endswith("…")


def test_the_first_sentence_ends_at_its_full_stop() -> None:
    assert first_sentence("Pays an order back.\nIt is final. Really.") == "Pays an order back."
    assert first_sentence("Version 1.2 of it") == "Version 1.2 of it"


def test_an_id_with_odd_characters_stays_one_part_of_an_address() -> None:
    assert address_of("shop.a/b?c") == "/console/catalog/shop.a%2Fb%3Fc"
