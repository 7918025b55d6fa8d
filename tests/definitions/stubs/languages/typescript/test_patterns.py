"""Patterns are matched as `RegExp` and the validator of calls match them, and in a time that no text makes long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from ferrule.schema.validation.validators import compiled_schema
from tests.definitions.stubs.languages.toolchains import node
from tests.definitions.stubs.languages.typescript.workshop import HERE, Workshop

_ATOMS = (
    "a", "b", "-", "ab", "é", ".", "[ab]", "[^a]", "[a-c-]", r"[\]b]", r"\d", r"\w", r"\s", r"\.", r"\x61", r"\u0062",
    r"\p{L}", "\U0001f600", "[\U0001f600é]", "$", "^", r"\b", r"\B", "(?:)", "",
)  # fmt: skip
_ALONE = ("$", "^", r"\b", r"\B", "(?:)", "", r"\u{2}")
"""What is not repeated by itself."""
_COUNTS = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0}", "*?", "+?", "{0,2}?")
_LETTERS = ("a", "a", "b", "c", "A", "1", "-", "_", " ", ".", "é", "\U0001f600", "]", "{")
_LOOSE = ("{", "}", "]", "{,2}", r"\i", r"\u{2}", r"[\w-.]", r"\_", "\\-")
"""What expressions may say that are read without the flag `u`."""


def _pattern(chance: Random, depth: int = 0, atoms: Sequence[str] = _ATOMS) -> str:
    parts = []
    for _ in range(chance.randint(1, 3)):
        if depth < 2 and chance.random() < 0.4:
            inner = "|".join(_pattern(chance, depth + 1, atoms) for _ in range(chance.randint(1, 3)))
            parts.append(chance.choice(("(", "(?:")) + inner + ")" + chance.choice(_COUNTS))
            continue
        atom = chance.choice(atoms)
        is_repeated = atom not in _ALONE
        parts.append(atom + (chance.choice(_COUNTS) if is_repeated else ""))
    return "".join(parts)


def _texts(chance: Random) -> list[str]:
    return ["".join(chance.choices(_LETTERS, k=chance.randrange(7))) for _ in range(8)]


def _said(workshop: Workshop, cases: Sequence[tuple[str, str, list[str]]], seconds: float = 60) -> list[list[Any]]:
    lines = "".join(
        json.dumps({"pattern": each, "flags": flags, "texts": texts}) + "\n" for each, flags, texts in cases
    )
    program, support = str(HERE / "programs" / "patterns.mjs"), str(workshop.folder / "dist" / "src" / "ferrule")
    said = node().run(program, support, cwd=HERE, stdin=lines.encode(), seconds=seconds).split("\n")[:-1]
    return [json.loads(line) for line in said]


def _agree(workshop: Workshop, cases: Sequence[tuple[str, str, list[str]]]) -> None:
    for (pattern, flags, texts), said in zip(cases, _said(workshop, cases), strict=True):
        for text, verdicts in zip(texts, said, strict=True):
            assert verdicts is not None, (pattern, flags)
            assert verdicts[0] == verdicts[1], (pattern, flags, text)


def test_random_patterns_are_matched_as_by_the_language_itself(workshop: Workshop) -> None:
    cases = []
    for number in range(3000):
        chance = Random(f"patterns.{number}")
        flags = chance.choice(("u", "u", "iu", "mu", "su", "imsu"))
        pattern = _pattern(chance)
        # Node finds `\B` inside of a character that takes two units.
        texts = [each for each in _texts(chance) if r"\B" not in pattern or "\U0001f600" not in each]
        cases.append((pattern, flags, [*texts, "a\nb", "\u2028é"]))
    _agree(workshop, cases)


def test_so_are_patterns_that_are_read_without_unicode(workshop: Workshop) -> None:
    atoms = [*(each for each in _ATOMS if not each.startswith(r"\p")), *_LOOSE]
    cases = []
    for number in range(1500):
        chance = Random(f"loose.{number}")
        cases.append((_pattern(chance, atoms=atoms), chance.choice(("", "i")), _texts(chance)))
    _agree(workshop, cases)


def test_random_patterns_are_matched_as_by_the_validator_of_calls(workshop: Workshop) -> None:
    # The validator takes letters beyond ASCII for parts of words, and repeats nothing that is empty.
    atoms = [each for each in _ATOMS if each not in _ALONE]
    cases = []
    for number in range(1500):
        chance = Random(f"judged.{number}")
        inner = _pattern(chance, atoms=atoms)
        schema = json.dumps({"pattern": chance.choice((inner, f"^(?:{inner})$", f"^{inner}", f"{inner}$"))})
        cases.append((schema, [json.dumps(each) for each in _texts(chance)]))
    for (schema, texts), said in zip(cases, workshop.checks(cases), strict=True):
        judge = compiled_schema(schema.encode())
        for text, issue in zip(texts, said, strict=True):
            assert (issue is None) == judge.is_valid(json.loads(text)), (schema, text, issue)


def test_no_text_takes_a_pattern_long(workshop: Workshop) -> None:
    patterns = ("^(a+)+$", "(a|a)*b$", "^(a?){40}a{40}$", "^(.*)*x$", "a*a*a*a*a*b", "^(([a-z])+.)+[A-Z]([a-z])+$")
    cases = [(json.dumps({"pattern": each}), [json.dumps("a" * 2000 + "!")]) for each in patterns]
    program, support = str(HERE / "programs" / "check.mjs"), str(workshop.folder / "dist" / "src" / "ferrule")
    lines = "".join(json.dumps({"schema": schema, "values": values}) + "\n" for schema, values in cases)
    said = node().run(program, support, cwd=HERE, stdin=lines.encode(), seconds=30).split("\n")[:-1]
    assert [json.loads(line) for line in said] == [[f": must match {each}"] for each in patterns]


def test_what_looks_around_refers_back_or_is_huge_is_left_to_the_language(workshop: Workshop) -> None:
    patterns = ("(?=a)a", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<x>a)\k<x>", "(?:(?:ab){400}){400}")
    assert _said(workshop, [(each, "u", ["a"]) for each in patterns]) == [[None]] * len(patterns)
    [named] = _said(workshop, [("^(?<x>a|b)+$", "u", ["ab", "abc"])])
    assert named == [[True, True], [False, False]]
