"""Whatever the bytes are, reading gives documents or one clear issue, in bounded time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.json_text import load
from ferrule.definitions.compiler.locate import locate, places_of
from ferrule.definitions.compiler.read import read, split_front_matter
from ferrule.definitions.compiler.scalars import Unparsable
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.value import JsonValue, Path
from tests.definitions.compiler.texts import DEFINITION, damaged, dumped


def one(name: str, text: str | bytes) -> Document:
    data = text.encode() if isinstance(text, str) else text
    documents = read(Source(name, data))
    assert len(documents) == 1
    return documents[0]


def issue_of(name: str, text: str | bytes) -> tuple[str, int]:
    document = one(name, text)
    assert len(document.issues) == 1, document.issues
    return document.issues[0].message, document.issues[0].line


# -- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"), ("true", True), ("False", False), ("~", None), ("null", None),
        ("", None), ("010", 10), ("0o17", 15), ("0x1F", 31), ("12:30", "12:30"), ("2026-04-30", "2026-04-30"), ("1_000", "1_000"),
        ("1.2", 1.2), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("0b11", "0b11"), ("+1", 1), ("-0", 0), ("1.0.0", "1.0.0"),
        ('"true"', "true"), ("'1'", "1"), ("!!str 5", "5"), ("!!int '3'", 3), ("!!float 3", 3.0), ("!custom word", "word"),
        ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_plain_scalars_have_yaml_1_2_core_types(text: str, value: JsonValue) -> None:
    document = one("a.yaml", f"a: {text}\n")
    assert document.issues == ()
    assert repr(document.value) == repr({"a": value})


def test_a_key_is_its_text() -> None:
    document = one("a.yaml", 'yes: 1\n400: 2\n1.50: 3\n"q": 4\nnull: 5\n')
    assert document.value == {"yes": 1, "400": 2, "1.50": 3, "q": 4, "null": 5}


def test_number_and_text_keys_of_the_same_spelling_are_one_key() -> None:
    assert issue_of("a.yaml", '400: a\n"400": b\n') == ("the key '400' is written twice", 2)


def test_the_first_of_two_values_is_kept() -> None:
    assert one("a.yaml", "a: 1\na: 2\n").value == {"a": 1}
    assert one("a.json", '{"a": 1,\n "a": 2}').value == {"a": 1}


def test_merge_keys_are_honoured_and_are_no_duplicates() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {y: 9, z: 8}\none:\n  <<: *b\n  y: 3\ntwo:\n  <<: [*b, *o]\n"
    document = one("a.yaml", text)
    assert document.issues == ()
    assert isinstance(document.value, dict)
    assert document.value["one"] == {"x": 1, "y": 3}
    assert document.value["two"] == {"x": 1, "y": 2, "z": 8}


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
    ("text", "comma", "kind", "message"),
    [
        ('{"a": [1,\n\t]}', 8, "array", "Expecting value"),
        ('{"a": 1 ,\n }', 8, "object", "Expecting property name enclosed in double quotes"),
    ],
)
def test_a_trailing_comma_is_told_alike_by_every_interpreter(
    text: str, comma: int, kind: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unparsable) as here:
        load(text)

    def loads_of_newer_python(given: str, **_: Any) -> Any:
        raise json.JSONDecodeError(f"Illegal trailing comma before end of {kind}", given, comma)

    monkeypatch.setattr(json, "loads", loads_of_newer_python)
    with pytest.raises(Unparsable) as there:
        load(text)
    assert here.value.issue == there.value.issue
    assert here.value.issue == Issue("syntax", f"not valid JSON: {message}", 2, 2, hint="remove the comma before it")


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


@settings(max_examples=300, deadline=None)
@given(st.one_of(damaged(), dumped()))
def test_every_value_that_was_read_has_a_place(text: str) -> None:
    lines = text.count("\n") + 2
    for document in read(Source("a.yaml", text.encode("utf-8", "surrogatepass"))):
        if document.is_parsed:
            places_of(document)
            findings = [Finding("X-1", path, "") for path in _paths(document.value)]
            for located in locate(document, findings):
                assert 1 <= located.span.line <= lines
                assert located.span.column >= 1


def _paths(value: JsonValue, path: Path = ()) -> list[Path]:
    found = [path]
    if isinstance(value, dict):
        for key, member in value.items():
            found += _paths(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _paths(item, (*path, index))
    return found


# -- places


def lines_at(name: str, text: str, *paths: Path) -> list[int]:
    document = one(name, text)
    return [located.span.line for located in locate(document, [Finding("X-1", path, "") for path in paths])]


def test_places_in_front_matter() -> None:
    text = f"---\n{DEFINITION}---\n"
    wanted: list[tuple[Path, int]] = [
        (("spec_version",), 2),
        (("meta", "description"), 7),
        (("meta", "missing"), 5),
        (("missing",), 1),
        (("items", 1), 21),
        (("items", 1, "missing"), 21),
        (("items", 1, "nested", 1, "c"), 25),
        (("error_codes", "400", "meaning"), 29),
        (("meta", "tags", 2), 15),
    ]
    assert lines_at("x.tool.md", text, *(path for path, _ in wanted)) == [line for _, line in wanted]


def test_a_list_item_that_begins_below_its_dash() -> None:
    text = "a:\n  -\n    b: 1\n  - c: 2\n"
    assert lines_at("a.yaml", text, ("a", 0), ("a", 0, "missing"), ("a", 1), ("a", 1, "missing")) == [3, 2, 4, 4]


def test_a_defect_in_an_anchored_node_is_placed_where_it_is_written() -> None:
    text = "one: &x\n  a: 1\ntwo: *x\nthree:\n  <<: *x\n  b: 2\n"
    paths: list[Path] = [("two", "a"), ("three", "a"), ("three", "b"), ("two", "missing"), ("two",)]
    assert lines_at("a.yaml", text, *paths) == [2, 2, 6, 1, 3]


def test_places_in_json() -> None:
    text = '\n{"id": 1,\n "tools": [\n  {"a":\n    {"b": 2}},\n  {\n   "a": 3}\n ]\n}\n'
    paths: list[Path] = [
        ("id",),
        ("tools", 0, "a", "b"),
        ("tools", 0, "a", "missing"),
        ("tools", 1, "missing"),
        ("missing",),
    ]
    assert lines_at("a.json", text, *paths) == [2, 5, 4, 6, 1]


def test_breaks_that_only_yaml_counts_do_not_shift_lines() -> None:
    assert lines_at("a.yaml", 'a: "x\u2028y"\nb: &q 1\nc: *q\n', ("b",), ("c",)) == [2, 3]
