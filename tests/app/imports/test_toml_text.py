"""Additions to ferrule.toml: every line that was there is there, in its place."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.app.imports.toml_text import add_bindings, add_table, set_member
from ferrule.errors import SettingsError

TEXTS = (
    "",
    "# only a comment\n",
    'namespace = "w" # here\n\n[functions]\nmodules = ["a.py"]  # mine\n\n# about checks\n[check]\nstrict = true\n',
    '[functions]\n# bound\nbind = { "old" = "a:b" } # yes\nthreads = 3\n',
    "[functions]\nbind = {}\n",
    '[functions.bind]\nold = "a:b" # yes\n\n# next\n[check]\nstrict = true\n',
    "[functions.bind] # empty\n[check]\nstrict = true",
    '[ functions . bind ]\n"o l d" = "a:b"\n',
    'functions.bind.old = "a:b"\n',
    'functions = { bind = { old = "a:b" } }\n',
)
NAMES = st.text("abc-_. é'\"", min_size=1, max_size=6)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(TEXTS), st.dictionaries(NAMES, st.text(max_size=8), min_size=1, max_size=3))
def test_what_is_bound_is_there_and_so_is_every_line(text: str, bind: dict[str, str]) -> None:
    try:
        after = add_bindings(text, bind)
    except SettingsError as error:
        assert "yourself" in str(error)
        assert text.startswith("functions"), "only where the whole is one line that cannot be added to"
        return
    before, now = tomllib.loads(text), tomllib.loads(after)
    assert now["functions"]["bind"] == {**bind, **before.get("functions", {}).get("bind", {})}
    others = [line for line in text.split("\n") if line.strip() and "bind = {" not in line]
    lines = iter(after.split("\n"))
    assert all(line in lines for line in others), after


def test_a_table_comes_last_and_an_existing_one_is_refused() -> None:
    text = "# mine\n[check]\nstrict = true\n"
    after = add_table(text, ("mcp", "servers", "a b"), {"command": ["x", 'y"z'], "env": {"K": "${V}"}})
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp"] == {"servers": {"a b": {"command": ["x", 'y"z'], "env": {"K": "${V}"}}}}
    with pytest.raises(SettingsError, match="yourself"):
        add_table(after, ("mcp", "servers", "a b"), {"url": "u"})


def test_a_member_is_changed_in_its_line() -> None:
    text = '[mcp.servers.far]\nurl = "u"\ntools = ["*"]  # all\n\n[check]\nstrict = true\n'
    assert set_member(text, ("mcp", "servers", "far"), "tools", ["a"]) == text.replace('["*"]', '["a"]')
    bare = '[mcp.servers.far]\nurl = "u"\n\n[check]\n'
    assert (
        set_member(bare, ("mcp", "servers", "far"), "tools", ["a"])
        == '[mcp.servers.far]\nurl = "u"\ntools = ["a"]\n\n[check]\n'
    )


def test_settings_that_cannot_be_read_are_left_alone() -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        add_bindings("[functions\n", {"a": "b:c"})
