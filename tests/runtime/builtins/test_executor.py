"""Built-in tools in the whole pipeline: agent file in, recorded result or refusal out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.model.result import Result
from ferrule.runtime.builtins.executor import BuiltinExecutor
from tests.runtime.builtins.builtin_tools import app_with_builtins, expect_refusal, no_client, tool
from tests.runtime.builtins.web import answer, running_web

ON: dict[str, Any] = {"enabled": True}


def test_the_five_are_run_and_nothing_else(tmp_path: Path) -> None:
    """ADL-17: case counts, and only tools of agent files are meant."""
    executor = BuiltinExecutor(tmp_path, {}, no_client)
    assert all(executor.can_run(tool(name)) for name in ("read", "write", "edit", "bash", "fetch"))
    read = tool("read")
    assert not executor.can_run(_named(read, "Read", "adl"))
    assert not executor.can_run(_named(read, "search", "adl"))
    assert not executor.can_run(_named(read, "read", "aml"))
    with expect_refusal("capability_gap"):
        executor.prepare(_named(read, "read", "aml"))


def _named(read: Any, name: str, dialect: str) -> Any:
    return msgspec.structs.replace(read, name=name, dialect=dialect)


def test_an_agent_file_becomes_calls_that_read_write_edit_and_fetch(tmp_path: Path) -> None:
    """ADL-18, ADL-23, ADL-26, ADL-27, ADL-28: listing and enabling a tool is all it takes."""

    async def story(url: str) -> None:
        async with app_with_builtins(
            tmp_path, read=ON, write=ON, edit=ON, fetch=ON, network_allow=("127.0.0.1",)
        ) as app:
            surface = app.surface(agent="shop")
            written = await _called(surface, "write", file_path="notes/a.txt", content="one two")
            assert written.value == {"file_path": "notes/a.txt", "bytes_written": 7}
            edited = await _called(surface, "edit", file_path="notes/a.txt", old_string="two", new_string="three")
            assert edited.value == {"file_path": "notes/a.txt", "replacements": 1}
            read = await _called(surface, "read", file_path="notes/a.txt")
            assert read.value["content"] == "one three"
            page = await _called(surface, "fetch", url=url)
            assert page.value["body"] == "page"

    with running_web(index=answer(b"page")) as site:
        asyncio.run(story(site.url()))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("read", {"file_path": "../secret"}), ("read", {"file_path": "/etc/passwd"}), ("read", {"file_path": "link"}),
     ("read", {"file_path": "ferrule.toml"}), ("write", {"file_path": "../new", "content": "x"}),
     ("write", {"file_path": "folder/new", "content": "x"}), ("write", {"file_path": "policy.toml", "content": "x"}),
     ("edit", {"file_path": "link", "old_string": "s", "new_string": "t"}), ("fetch", {"url": "http://169.254.169.254/"}),
     ("fetch", {"url": "http://2130706433/"}), ("fetch", {"url": "http://localhost:1/"})],
)  # fmt: skip
def test_an_escape_ends_as_a_recorded_failure(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    """ADL-24, DESIGN promise 9: failed, with its class, in the ledger, and nothing touched."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (tmp_path / "secret").write_text("secret")
    (workspace / "ferrule.toml").write_text("")
    (workspace / "link").symlink_to("../secret")
    (workspace / "folder").symlink_to("..")

    async def story() -> None:
        async with app_with_builtins(workspace, read=ON, write=ON, edit=ON, fetch=ON) as app:
            result = await app.surface(agent="shop").call(name, arguments)
            assert isinstance(result, Result) and result.is_error and result.error is not None
            assert result.error.error_class == "sandbox_violation"
            assert result.error.recoverability == "change_arguments_or_policy"
            again = await app.result(result.invocation_id)
            assert isinstance(again, Result) and again.error is not None
            assert again.error.error_class == "sandbox_violation"

    asyncio.run(story())
    assert (tmp_path / "secret").read_text() == "secret" and not (workspace / "policy.toml").exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["secret", "ws"]


def test_a_tool_that_is_off_is_listed_and_says_how_to_turn_it_on(tmp_path: Path) -> None:
    """ADL-20, ADL-22: not enabled in the agent file, or switched off in the environment."""

    async def story() -> None:
        switches = {"A2A_WRITE_DISABLED": "true", "TOOLS_EDIT_ENABLED": "false", "TOOLS_FETCH_MAX_BYTES": "lots"}
        async with app_with_builtins(tmp_path, switches, read={}, write=ON, edit=ON, fetch=ON) as app:
            surface = app.surface(agent="shop")
            for name, arguments, said in (
                ("read", {"file_path": "a"}, "spec.config.tools.read.enabled: true"),
                ("write", {"file_path": "a", "content": "x"}, "A2A_WRITE_DISABLED"),
                (
                    "edit",
                    {"file_path": "a", "old_string": "a", "new_string": "b"},
                    "spec.config.tools.edit.enabled: true",
                ),
                ("fetch", {"url": "http://example.com/"}, "TOOLS_FETCH_MAX_BYTES"),
            ):
                result = await surface.call(name, arguments)
                assert isinstance(result, Result) and result.error is not None and said in result.error.message
                assert result.error.error_class == ("setup_required" if name == "fetch" else "capability_gap")
                assert surface.surface.find(name) is not None

    asyncio.run(story())
    assert list(tmp_path.iterdir()) == []


async def _called(surface: Any, name: str, **arguments: Any) -> Result:
    result = await surface.call(name, arguments)
    assert isinstance(result, Result)
    assert result.error is None, result.error
    return result
