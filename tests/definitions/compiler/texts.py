"""Strategies for YAML texts: plain definitions, definitions with damage, and dumps of random values."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

DEFINITION = """\
spec_version: "1.2"
tool_id: 'send-mail'   # the stem of the file
version: 1.0.0
meta:
  name: Send mail
  description: >
    Send a message to one person.
    Use it after they agreed.

    Not for advertising.
  notes: |-
    first line
    second: line
  tags: [mail, "write", 'a b', 3, true, null]
  limits: { low: 1, high: 2.5, on: yes, "q": 'x' }
  last_updated: 2026-04-30
items:
- name: one
  size: 010
- name: two
  nested:
    - a
    - b: 12:30
      c: ~
empty:
error_codes:
  400:
    meaning: "bad # request"
    agent_action: stop
"""

FRAGMENTS = (
    "\n", "  ", " ", "- ", "-", ":", ": ", "#", " #", "'", '"', "|", ">", "|-", ">+", "[", "]", "{", "}", ",", "&a ", "*a",
    "!x ", "%", "@", "`", "?", "? ", "---", "...", "\t", "\r\n", "\r", "~", "null", "yes", "1_000", "0x1F", "0o7", ".nan",
    "1e400", "<<: ", "\\", "é", "\u2028", "\x85", "\ufeff", "key: value\n", "    deep: 1\n", "- item\n", "😀", "\x00", "\x07",
)  # fmt: skip


@st.composite
def damaged_texts(draw: st.DrawFn, text: str = DEFINITION) -> str:
    """A definition with a few random edits."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 6))
        text = text[:at] + draw(st.sampled_from(FRAGMENTS)) + text[at + cut :]
    return text


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        ["yes", "no", "~", "null", "010", "12:30", "2026-01-01", "a: b", "a #b", "- x", "0x1F", "1e3", "<<", ""]
    ),
)
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def dumped_texts(draw: st.DrawFn) -> str:
    """A random mapping as a YAML library writes it, in one of its styles."""
    value = draw(st.dictionaries(st.text(min_size=1, max_size=8), values, min_size=1, max_size=4))
    return str(
        yaml.safe_dump(
            value,
            allow_unicode=draw(st.booleans()),
            default_flow_style=draw(st.sampled_from([True, False, None])),
            width=draw(st.sampled_from([20, 80, 10_000])),
            indent=draw(st.sampled_from([2, 4])),
        )
    )
