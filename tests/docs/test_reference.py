"""The reference is generated, complete and fresh, and the address of every rule leads to its section."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
from scripts.generate_docs import REFERENCE, ROOT, pages, stale
from scripts.reference import settings

from ferrule.settings import Settings
from ferrule.workspace.parts import DOCUMENTATION, build_page_url, list_rule_pages
from tests.docs.test_guides import anchors


def test_generated_pages_are_fresh() -> None:
    assert stale(pages()) == [], "run `make docs`"


def test_every_rule_has_exactly_one_page() -> None:
    codes = [info.code for info in list_rule_pages()]
    assert sorted(codes) == sorted(set(codes))


def test_every_rule_is_named_for_its_problem() -> None:
    names = [(info.code.partition("-")[0], info.name) for info in list_rule_pages()]
    assert sorted(names) == sorted(set(names)), "two rules of a standard share a name"
    assert not [name for _, name in names if name != name.lower() or name.startswith(("no-", "must-"))]


def test_the_address_of_a_rule_leads_to_its_section() -> None:
    for info in list_rule_pages():
        file, _, anchor = build_page_url(info.code).removeprefix(DOCUMENTATION).partition("#")
        assert anchor in anchors(REFERENCE / "rules" / file), info.code


def test_addresses_lie_below_the_project_own_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    relative = Path("docs/reference/rules")
    assert f"{project['urls']['Repository']}/blob/main/{relative.as_posix()}/" == DOCUMENTATION


def test_every_table_of_the_settings_has_its_keys_told() -> None:
    page = settings.page()
    for field in msgspec.structs.fields(Settings):
        assert field.name == "namespace" or re.search(rf"^## `\[+{field.name}\b", page, re.MULTILINE), field.name
    assert "Upstreams" not in page
