"""First-level sections of a Markdown body."""

from __future__ import annotations

import pytest

from ferrule.definitions.content.sections import split_sections


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", {}),
        ("just text", {"": "just text"}),
        ("# Purpose\n\nMail.\n\n# Side Effects #\nSends.\n", {"purpose": "Mail.", "side effects": "Sends."}),
        ("# Purpose\n## Detail\nMore\n", {"purpose": "## Detail\nMore"}),
        ("Purpose\n=======\nMail.", {"purpose": "Mail."}),
        ("# Purpose\r\nMail.\r\n# Notes\r\nOne\r\nTwo", {"purpose": "Mail.", "notes": "One\nTwo"}),
        ("# A\n```\n# B\n```\n# C\nc", {"a": "```\n# B\n```", "c": "c"}),
        ("# A\n~~~~ md\n# B\n~~~\n# C\n~~~~\n# D\nd", {"a": "~~~~ md\n# B\n~~~\n# C\n~~~~", "d": "d"}),
        ("# A\n- ```\n  # B\n  ```\n", {"a": "- ```\n  # B\n  ```"}),
        ("# A\n```code``` here\n# B\nb", {"a": "```code``` here", "b": "b"}),
        ("#A\n    # code\n", {"": "#A\n    # code"}),
        ("# A\none\n# a\ntwo\n", {"a": "one"}),
        ("# Empty\n\n# Full\nx", {"full": "x"}),
    ],
)
def test_sections_are_cut_at_first_level_headings(body: str, expected: dict[str, str]) -> None:
    assert split_sections(body) == expected
