"""Texts of definitions cannot leave their literals and comments in Rust."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from ferrule.definitions.stubs.languages.rust.text import (
    document_lines,
    name_members,
    write_documentation,
    write_literal,
    write_raw,
)
from tests.definitions.stubs.languages.rust.hostile import TEXTS


@pytest.mark.parametrize("text", TEXTS)
def test_text_cannot_leave_its_literal_or_comment(text: str) -> None:
    inside = write_literal(text)[1:-1]
    assert '"' not in inside.replace('\\"', "").replace("\\\\", "")
    assert inside.isprintable()
    comment = write_documentation([document_lines(text)])
    assert all(line.startswith("///") and not line.startswith("////") for line in comment.splitlines())
    assert "```" not in comment
    assert "///     " not in comment
    schema = write_raw(msgspec.Raw(json.dumps(text + '"#').encode()))
    hashes = schema[1:].partition('"')[0]
    assert schema.isascii() and f'"{hashes}' not in schema[len(hashes) + 2 : -len(hashes) - 1]


def test_names_that_nobody_could_write_become_identifiers_of_their_own() -> None:
    names = name_members(["type", "user-id", "user_id", "", "größe", "2fa"])
    assert len(set(names.values())) == 6
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names.values())
    assert names["type"] == "type_" and names["user_id"] == "user_id"
