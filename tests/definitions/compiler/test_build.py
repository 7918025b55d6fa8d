"""Building and publishing whole workspaces."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ferrule.definitions.compiler.seal import read_trusted_keys
from ferrule.errors import BuildRefused, CatalogError, SealError, WorkspaceError
from ferrule.model.catalog import Catalog
from ferrule.model.diagnostic import Report
from ferrule.workspace.releases import CATALOG_FILE, build, load_catalog, publish
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import agent, oxp, role, shop, tool, write

NOW = "2026-02-01"
AT = "2026-02-01T12:00:00Z"


def built(root: Path, files: dict[str, str]) -> Catalog:
    """The catalog of a workspace, sealed with its own key."""
    workspace = Workspace.open(write(root, files))
    build(workspace, now=NOW)
    return load_catalog(workspace)


def rules_of(refused: pytest.ExceptionInfo[BuildRefused]) -> list[tuple[str, str, int]]:
    report = refused.value.report
    assert isinstance(report, Report)
    return [(diagnostic.rule, diagnostic.file.rsplit("/", 1)[-1], diagnostic.line) for diagnostic in report.diagnostics]


def test_two_builds_in_different_folders_are_the_same_bytes(tmp_path: Path) -> None:
    files = {**shop(), "tools/add.json": oxp()}
    key = tmp_path / "key"
    first = Workspace.open(write(tmp_path / "one", files))
    build(first, now=NOW)
    shutil.copy(tmp_path / "one/.ferrule/keys/workspace.key", key)
    second = Workspace.open(write(tmp_path / "elsewhere/two", dict(reversed(files.items()))))
    build(second, now=NOW, key_file=key)
    assert (first.root / CATALOG_FILE).read_bytes() == (second.root / CATALOG_FILE).read_bytes()


SAME_MEANING: dict[str, Callable[[str], str]] = {
    "a comment": lambda text: text.replace("status: active", "status: active # ready"),
    "the order of keys": lambda text: text.replace("  owner: shop\n", "").replace("meta:\n", "meta:\n  owner: shop\n"),
    "quotes": lambda text: text.replace("version: 1.0.0", 'version: "1.0.0"'),
    "the body": lambda text: text + "\n# Notes\nRead me.\n",
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "a default written out": lambda text: text.replace("  endpoint:", "  timeout_ms: 5000\n  endpoint:"),
}
OTHER_MEANING: dict[str, Callable[[str], str]] = {
    "the description": lambda text: text.replace("by words", "by number"),
    "a schema": lambda text: text.replace('"integer"', '"number"'),
    "guidance": lambda text: text.replace("is not known", "is unknown"),
    "an unknown field": lambda text: text.replace("type: retrieval\n", "type: retrieval\nx_team: blue\n"),
    "the version": lambda text: text.replace("version: 1.0.0", "version: 1.0.1"),
    "a timeout": lambda text: text.replace("  endpoint:", "  timeout_ms: 4000\n  endpoint:"),
}


@pytest.mark.parametrize("what", [*SAME_MEANING, *OTHER_MEANING])
def test_the_seal_changes_with_meaning_and_with_nothing_else(what: str, tmp_path: Path) -> None:
    change = SAME_MEANING.get(what) or OTHER_MEANING[what]
    changed = change(tool())
    assert changed != tool()
    before = built(tmp_path / "a", {"tools/find-order.tool.md": tool()})
    after = built(tmp_path / "b", {"tools/find-order.tool.md": changed})
    assert (before.digest == after.digest) is (what in SAME_MEANING)
    assert (before.digest_at(0) == after.digest_at(0)) is (what in SAME_MEANING)


def test_documentation_is_kept_outside_the_payload(tmp_path: Path) -> None:
    catalog = built(tmp_path, {"tools/find-order.tool.md": tool(body="# Purpose\nWhy it is here.\n")})
    found = catalog.tools[0]
    assert catalog.documentation(found) == {"purpose": "Why it is here."}
    assert b"Why it is here" not in bytes(found.payload)


def test_an_agent_is_compiled_with_pinned_tools_limits_grants_and_instructions(tmp_path: Path) -> None:
    files = shop(
        tool=tool(extra="max_calls_per_run: 9\n"),
        role=role("find-order").replace("access: call", "access: call, max_calls_per_run: 5"),
    )
    catalog = built(tmp_path, files)
    record = catalog.record("agent", "helper")
    assert record is not None and record.version == "1.0.0"
    payload = msgspec.json.decode(record.payload)
    assert payload["tools"] == [
        {
            "tool_id": "find-order",
            "version": "1.0.0",
            "digest": catalog.digest_at(0),
            "approval_required": False,
            "approval_from": [],
            "max_calls_per_run": 5,
        }
    ]
    assert payload["role"]["iam_id"] == "reader" and payload["role"]["grants"]["tools"][0]["ref"] == "find-order"
    assert payload["body"]["rules"] == "Be brief."
    for text in ("Use it when:\n- the customer asks about an order", "Do not use it when:", "Warning, side effects:"):
        assert text in payload["instructions"]


def test_errors_refuse_the_build_and_leave_the_old_catalog(tmp_path: Path) -> None:
    built(tmp_path, shop())
    before = (tmp_path / CATALOG_FILE).read_bytes()
    write(tmp_path, {"tools/find-order.tool.md": tool(status="retired")})
    with pytest.raises(BuildRefused) as refused:
        build(Workspace.open(tmp_path), now=NOW)
    assert ("AML-11", "find-order.tool.md", 5) in rules_of(refused)
    assert (tmp_path / CATALOG_FILE).read_bytes() == before


def test_a_suppressed_secret_still_refuses_the_build(tmp_path: Path) -> None:
    text = tool().replace(
        "credentials: {scheme: none}",
        "credentials:\n    scheme: none\n    token: abc # ferrule: ignore[AML-71] only for a test",
    )
    with pytest.raises(BuildRefused) as refused:
        built(tmp_path, {"tools/find-order.tool.md": text})
    assert [rule for rule, _, _ in rules_of(refused)] == ["AML-71"]
    assert not (tmp_path / CATALOG_FILE).exists()


def test_a_number_json_cannot_say_refuses_the_build(tmp_path: Path) -> None:
    text = tool().replace("type: retrieval\n", "type: retrieval\nx_limit: .inf\n")
    with pytest.raises(BuildRefused) as refused:
        built(tmp_path, {"tools/find-order.tool.md": text})
    assert [rule for rule, _, _ in rules_of(refused)] == ["AML-2"]


def test_a_full_disk_leaves_the_old_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, shop())
    before = (tmp_path / CATALOG_FILE).read_bytes()
    beside = sorted(path.name for path in (tmp_path / ".ferrule").iterdir())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        build(Workspace.open(write(tmp_path, {"tools/find-order.tool.md": tool(version="1.0.1")})), now=NOW)
    assert (tmp_path / CATALOG_FILE).read_bytes() == before
    assert sorted(path.name for path in (tmp_path / ".ferrule").iterdir()) == beside


def test_a_key_is_made_once_and_its_public_half_is_trusted(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, shop()))
    first, second = build(workspace, now=NOW), build(workspace, now=NOW)
    assert first.new_key == tmp_path / ".ferrule/keys/workspace.key" and second.new_key is None
    assert len(read_trusted_keys(tmp_path / "ferrule.pub")) == 1


def test_a_catalog_of_a_stranger_is_refused(tmp_path: Path) -> None:
    built(tmp_path / "a", shop())
    built(tmp_path / "b", shop())
    shutil.copy(tmp_path / "a" / CATALOG_FILE, tmp_path / "b" / CATALOG_FILE)
    with pytest.raises(SealError, match="does not trust"):
        load_catalog(Workspace.open(tmp_path / "b"))
    with pytest.raises(CatalogError, match="ferrule build"):
        load_catalog(Workspace.open(write(tmp_path / "c", shop())))


def test_an_agent_without_a_role_can_be_built_but_not_published(tmp_path: Path) -> None:
    files = {**shop(agent=agent("find-order", role=None))}
    built(tmp_path, files)
    with pytest.raises(BuildRefused) as refused:
        publish(Workspace.open(tmp_path), by="ada", at=AT, now=NOW)
    assert rules_of(refused) == [("AML-93", "helper.agent.md", 1)]
