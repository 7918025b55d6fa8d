"""A place for every key and item of a TOML text."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.value import Path
from ferrule.runtime.policy.toml_positions import TomlPosition, TomlPositions

TEXT = """\
# a comment with [[rules]] in it
mode = "default"

[groups]
finance = ["ada",   # first
  "bob"]
"odd name" = []

[[rules]]
id = "one"
when = { amount = { above = 100 }, "customer.country" = { in = ["DE"] } }

[[rules]]
reason = \"\"\"
[[rules]]
id = "not me" \"\"\"
path.match = ['/etc/**']

[rules.facts]
is_destructive = true
"""


def test_keys_tables_and_items_have_their_lines() -> None:
    places = TomlPositions(TEXT)
    expected = {
        ("mode",): 2,
        ("groups",): 4,
        ("groups", "finance", 0): 5,
        ("groups", "finance", 1): 6,
        ("groups", "odd name"): 7,
        ("rules", 0): 9,
        ("rules", 0, "id"): 10,
        ("rules", 0, "when", "customer.country", "in", 0): 11,
        ("rules", 1): 13,
        ("rules", 1, "path", "match", 0): 17,
        ("rules", 1, "facts", "is_destructive"): 20,
    }
    assert {path: places.find(path).line for path in expected} == expected
    assert places.find(("rules", 0, "when", "amount")) == TomlPosition(11, 10, 16)


def test_what_is_not_written_is_at_what_surrounds_it() -> None:
    places = TomlPositions(TEXT)
    assert places.find(("rules", 1, "decision")).line == 13
    assert places.find(("nothing", "at", "all")) == TomlPosition(1, 1, 1)


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=6)
values = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(words, values, max_size=4), st.booleans())
def test_every_key_and_item_of_any_text_is_found(value: dict[str, Any], is_spread: bool) -> None:
    lines = [f"{quote(key)}{' ' * is_spread}= {write_toml(member)}" for key, member in value.items()]
    text = "\n".join(line for entry in lines for line in ("# note = 1", entry, "") if is_spread or line == entry)
    assert tomllib.loads(text) == value
    places = TomlPositions(text)
    for number, (key, member) in enumerate(value.items()):
        line = 3 * number + 2 if is_spread else number + 1
        for path in paths(member, (key,)):
            assert path in places._known
            assert places.find(path).line == line


def paths(value: Any, base: Path) -> list[Path]:
    found = [base]
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        found += paths(member, (*base, key))
    return found


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quote(value)
        case list():
            return "[" + ", ".join(map(write_toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{quote(key)} = {write_toml(member)}" for key, member in value.items()) + "}"
        case _:
            return str(value)
