"""Whatever the bytes are, reading gives documents or one clear issue, in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.read import read, split_front_matter
from ferrule.model.document import Source
from tests.definitions.compiler.reading import issue_of, one

# -- values


def test_the_first_of_two_values_is_kept() -> None:
    assert one("a.yaml", "a: 1\na: 2\n").value == {"a": 1}
    assert one("a.json", '{"a": 1,\n "a": 2}').value == {"a": 1}


def test_a_bom_and_crlf_line_ends_are_accepted() -> None:
    document = one("x.tool.md", b"\xef\xbb\xbf---\r\na: 1\r\nb:\r\n  - x\r\n---\r\nbody\r\n")
    assert document.value == {"a": 1, "b": ["x"]}
    assert document.issues == ()


# -- front matter


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("---\na: 1\n---\nbody\n", ("a: 1\n", "body\n")),
        ("---\na: 1\n---", ("a: 1\n", "")),
        ("---\n---\n", ("", "")),
        ("---\na: |\n  ---\nb: 1\n---\n---\nx", ("a: |\n  ---\nb: 1\n", "---\nx")),
        ("---\na: 1\n", None),
        (" ---\na: 1\n---\n", None),
        ("--- \na: 1\n---\n", None),
        ("a: 1\n---\n", None),
        ("---\na: 1\n----\n", None),
        ("", None),
    ],
)
def test_front_matter_is_what_stands_between_two_exact_delimiters(text: str, parts: tuple[str, str] | None) -> None:
    assert split_front_matter(text) == parts


@pytest.mark.parametrize(
    "text", ["# Title\n", "---\na: 1\n", "---\n- a\n---\n", "---\njust words\n---\n", "---\n---\n", ""]
)
def test_bad_front_matter_is_one_issue_on_line_1(text: str) -> None:
    assert issue_of("x.tool.md", text)[1] == 1


# -- hostile input


@pytest.mark.parametrize(
    ("name", "data", "line", "words"),
    [
        ("x.tool.md", b"---\na: 1\nb: [\n---\n", 4, "not valid YAML"),
        ("x.tool.md", b"---\na:\n\tb: 1\n---\n", 3, "tab"),
        ("x.tool.md", b"---\na: *x\n---\n", 2, "no anchor"),
        ("x.tool.md", b"---\na: \xff\n---\n", 2, "UTF-8"),
        ("x.tool.md", b"\xff\xfe-\x00-\x00-\x00", 1, "UTF-16"),
        ("x.tool.md", b"---\na: \x00\n---\n", 2, "binary"),
        ("x.tool.md", b"---\na: b\n\x07: c\n---\n", 3, "not allowed"),
        ("x.tool.md", b"---\na: b: c\n---\n", 2, "not valid YAML"),
        ("x.tool.md", b"---\na: .nan\n---\n", 2, "not a number"),
        ("x.tool.md", b"---\na: " + b"9" * 5000 + b"\n---\n", 2, "digits"),
        ("x.tool.md", b"---\n? [a]\n: b\n---\n", 2, "mapping key"),
        ("x.tool.md", b"---\na: 1\n...\nb: 2\n---\n", 4, "not valid YAML"),
        ("x.yaml", b"a: " + b"[" * 10_000, 1, "levels deep"),
        ("x.yaml", b"".join(b"  " * n + b"- a:\n" for n in range(3000)), 51, "levels deep"),
        ("x.json", b'{"a": 1,}', 1, "not valid JSON"),
        ("x.json", b"[" * 10_000 + b"]" * 10_000, 1, "levels deep"),
        ("x.json", b'{"a":' * 150 + b"1" + b"}" * 150, 1, "levels deep"),
        ("x.json", b"[" * 5000, 1, "levels deep"),
        ("x.json", b"[\n" * 150 + b"oops", 101, "levels deep"),
        ("x.json", b'{"a": NaN}', 1, "NaN"),
        ("x.json", b"", 1, "not valid JSON"),
        ("x.json", b'{"a":\n"\\ud83d"}', 2, "half of a surrogate pair"),
        ("x.json", b'{"a": "\\ude00"}', 1, "half of a surrogate pair"),
    ],
)
def test_unusable_text_is_one_clear_issue(name: str, data: bytes, line: int, words: str) -> None:
    message, where = issue_of(name, data)
    assert words in message
    assert where == line


@pytest.mark.parametrize(
    "unit", [b"[", b"{", b"- ", b"a: &x ", b'"', b"'", b"? ", b"!", b"&a *a ", b"|\n ", b"\n", b"#", b"a:\n "]
)
@pytest.mark.parametrize("name", ["x.yaml", "x.json", "x.tool.md"])
def test_a_megabyte_of_anything_is_read_in_bounded_time(name: str, unit: bytes) -> None:
    data = unit * (1_000_000 // len(unit))
    started = time.process_time()
    read(Source(name, b"---\n" + data + b"\n---\n" if name.endswith(".md") else data))
    assert time.process_time() - started < 20


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["x.tool.md", "x.yaml", "x.json", "x.txt", "x"]))
def test_any_bytes_give_documents_or_issues(data: bytes, name: str) -> None:
    read(Source(name, data))
    read(Source(name, b"---\n" + data + b"\n---\n"))


# -- places
