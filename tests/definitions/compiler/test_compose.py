"""YAML texts: keys, merge keys and aliases."""

from __future__ import annotations

import time

from tests.definitions.compiler.reading import issue_of, one


def test_a_key_is_its_text() -> None:
    document = one("a.yaml", 'yes: 1\n400: 2\n1.50: 3\n"q": 4\nnull: 5\n')
    assert document.value == {"yes": 1, "400": 2, "1.50": 3, "q": 4, "null": 5}


def test_number_and_text_keys_of_the_same_spelling_are_one_key() -> None:
    assert issue_of("a.yaml", '400: a\n"400": b\n') == ("the key '400' is written twice", 2)


def test_merge_keys_are_honoured_and_are_no_duplicates() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {y: 9, z: 8}\none:\n  <<: *b\n  y: 3\ntwo:\n  <<: [*b, *o]\n"
    document = one("a.yaml", text)
    assert document.issues == ()
    assert isinstance(document.value, dict)
    assert document.value["one"] == {"x": 1, "y": 3}
    assert document.value["two"] == {"x": 1, "y": 2, "z": 8}


def test_an_alias_inside_its_own_anchor_is_cut_and_reported() -> None:
    document = one("a.yaml", "top: &a\n  x: 1\n  self: *a\n")
    assert document.value == {"top": {"x": 1, "self": None}}
    assert [(issue.kind, issue.line, issue.path) for issue in document.issues] == [("recursion", 3, ("top", "self"))]


def test_an_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    started = time.perf_counter()
    message, line = issue_of("a.yaml", "\n".join(lines) + "\n")
    assert "expands to more than" in message
    assert line < 8
    assert time.perf_counter() - started < 5
