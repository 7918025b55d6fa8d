"""Texts of definitions cannot leave their literals and comments in Rust."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.languages.rust.text import documentation, lines, literal, raw
from tests.definitions.stubs.languages.rust.hostile import TEXTS


@pytest.mark.parametrize("text", TEXTS)
def test_text_cannot_leave_its_literal_or_comment(text: str) -> None:
    inside = literal(text)[1:-1]
    assert '"' not in inside.replace('\\"', "").replace("\\\\", "")
    assert inside.isprintable()
    comment = documentation([lines(text)])
    assert all(line.startswith("///") and not line.startswith("////") for line in comment.splitlines())
    assert "```" not in comment
    assert "///     " not in comment
    assert raw('a"# b"## c').startswith('r###"')


def _words(comment: str) -> str:
    return " ".join(line.removeprefix("///").strip() for line in comment.splitlines())


@pytest.mark.parametrize("text", [*TEXTS, "a - b * c # d 1. e = f | " * 12, "- " + "an item of a list, " * 12])
def test_long_descriptions_are_wrapped_and_stay_the_same_words(text: str) -> None:
    told = lines(text)
    comment = documentation([told])
    assert _words(comment).split() == " ".join(told).split()
    begun = [line.removeprefix("/// ") for line in comment.splitlines() if line.removeprefix("/// ") not in told]
    assert not any(line[:1] in "-+*#=|" for line in begun[1:])


def test_what_is_wrapped_fits_the_columns_and_breaks_no_code() -> None:
    code = "`a --long command with --many options that nobody may break`"
    link = f"https://example.com/{'way/' * 30}"
    comment = documentation(
        [lines(f"- Long: {'word ' * 30}{code} {'more ' * 10}{link} end."), lines("# " + "h " * 80)], 4
    )
    made = comment.splitlines()
    assert all(len(line) <= 100 for line in made if link not in line and "# h" not in line)
    assert code in comment
    assert link in comment
    assert made[1].startswith("    ///   word")
    assert made[-1] == "    /// # " + ("h " * 80).strip()
