"""Documents are laid out as Prettier lays them out."""

from __future__ import annotations

from ferrule.definitions.stubs.languages.typescript.layout import After, Group, columns, laid_out, listed


def test_a_group_breaks_as_a_whole() -> None:
    short = listed("[", ["a", "b"], "]")
    assert laid_out(short) == "[a, b]"
    assert laid_out(listed("[", ["a" * 50, "b" * 50], "]")) == f"[\n  {'a' * 50},\n  {'b' * 50},\n]"


def test_what_follows_counts_up_to_the_next_break() -> None:
    doc = [listed("(", ["a" * 36], ")"), listed("(", ["b" * 38], ")"), ";"]
    assert laid_out(doc) == f"({'a' * 36})({'b' * 38});"
    assert laid_out([*doc, " // more"]) == f"({'a' * 36})(\n  {'b' * 38},\n); // more"


def test_after_an_operator_the_line_is_kept_while_it_can_be() -> None:
    kept = Group(["const x =", After(listed("[", ["a" * 50, "b" * 50], "]"))])
    assert laid_out(kept).startswith("const x = [\n  a")
    assert laid_out(Group(["const x =", After("a" * 80)])) == f"const x =\n  {'a' * 80}"


def test_letters_of_east_asia_take_two_columns() -> None:
    assert columns("水 e\u0301") == 4
