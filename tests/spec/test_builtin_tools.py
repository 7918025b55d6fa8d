"""The built-in tools of an agent file in a workspace on disk, compiled, opened and called: ADL-17 to ADL-33, AT-203."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.errors import BuildRefused
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.model.diagnostic import Report
from ferrule.model.result import Result
from ferrule.model.story import Story
from tests.runtime.builtins.web import answer, redirect, running_web
from tests.spec.running_app import run_async

RESERVED = ("read", "bash", "write", "edit", "fetch")
PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    # required, all
    "read": ({"file_path"}, {"file_path", "offset", "limit"}),
    "bash": ({"command"}, {"command"}),
    "write": ({"file_path", "content"}, {"file_path", "content"}),
    "edit": ({"file_path", "old_string", "new_string"}, {"file_path", "old_string", "new_string"}),
    "fetch": ({"url"}, {"url", "method", "save_path", "headers"}),
}
TAGS = {
    "read": ["filesystem", "read"], "bash": ["shell", "execute"], "write": ["filesystem", "write"],
    "edit": ["filesystem", "write"], "fetch": ["network", "read"],
}  # fmt: skip


class Workshop:
    """A workspace whose agent `shop` has some of the built-in tools."""

    def __init__(self, root: Path, app: App) -> None:
        self.root, self.app = root, app
        self.surface = app.surface(principal="ada")

    async def call(self, name: str, **arguments: Any) -> Result:
        """A call that ends at once."""
        outcome = await self.surface.call(name, arguments)
        assert isinstance(outcome, Result), outcome
        return outcome

    async def gives(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a call gives."""
        result = await self.call(name, **arguments)
        assert result.error is None, result.error
        value: dict[str, Any] = result.structured_content
        return value

    async def refused(self, name: str, **arguments: Any) -> tuple[str, str]:
        """Class and code of a call that fails."""
        result = await self.call(name, **arguments)
        assert result.error is not None, result
        return result.error.error_class, result.error.error_code


@asynccontextmanager
async def workshop(root: Path, environment: dict[str, str] | None = None, /, **tools: Any) -> AsyncIterator[Workshop]:
    """The workspace; `tools`: the settings of each listed tool, without `enabled`, which is true unless said."""
    listed = {name: {"enabled": True, **said} for name, said in tools.items()}
    manifest = {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": "shop", "description": "Sells.", "version": "1.0.0"},
        "spec": {
            "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False},
            "server": {"port": 8080},
            "language": {"go": {"module": "example.com/shop", "version": "1.24"}},
            "tools": [{"id": name} for name in tools],
            "config": {"tools": listed},
        },
    }
    root.mkdir(exist_ok=True)
    (root / "shop.adl.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    settings = '[builtins]\nsandbox = "preferred"\n[network]\nallow = ["127.0.0.1"]\n'
    (root / "ferrule.toml").write_text(settings, encoding="utf-8")
    (root / "policy.toml").write_text('mode = "trusted"\n', encoding="utf-8")
    async with ferrule.open(root, environment=environment or {}, tends=False) as app:
        yield Workshop(root, app)


def test_adl_17_five_ids_are_reserved(tmp_path: Path) -> None:
    """ADL-17, ADL-18: listed alone each is a tool with its canonical name, parameters and tags; nothing else is there."""

    @run_async
    async def story() -> None:
        async with workshop(tmp_path, **{name: {} for name in RESERVED}) as on:
            shown = {each.name: each for each in on.surface.tools().tools}
            assert set(shown) == set(RESERVED)
            for name, (required, every) in PARAMETERS.items():
                schema = json.loads(bytes(shown[name].input_schema))
                assert set(schema["required"]) == required
                assert set(schema["properties"]) == every
                assert schema["additionalProperties"] is False
                tool = on.app.catalog.versions(f"shop.{name}")[0].tool
                assert tool.title == name.capitalize()
                assert list(tool.tags) == TAGS[name]
        async with workshop(tmp_path / "one", read={}) as on:
            assert {each.name for each in on.surface.tools().tools} == {"read"}

    story()


def test_adl_17_other_ids_and_other_cases_are_a_users_own(tmp_path: Path) -> None:
    """ADL-17, ADL-10: `search` and `Read` alone are no tools."""
    for name in ("search", "Read"):

        @run_async
        async def story(name: str = name) -> None:
            with pytest.raises(BuildRefused) as refused:
                async with workshop(tmp_path / name, **{name: {}}):
                    pass
            report = refused.value.report
            assert isinstance(report, Report)
            assert "ADL-10" in {each.rule for each in report.diagnostics}

        story()


def test_adl_20_a_tool_that_is_not_enabled_says_which_setting_enables_it(tmp_path: Path) -> None:
    """ADL-20: it is listed, and a call of it is an error."""

    @run_async
    async def story() -> None:
        async with workshop(tmp_path, read={"enabled": False}) as on:
            result = await on.call("read", file_path="a.txt")
            assert result.error is not None
            assert result.error.error_class == "capability_gap"
            assert "spec.config.tools.read.enabled" in result.error.message

    story()


PRECEDENCE: list[tuple[dict[str, Any], dict[str, str], int]] = [
    ({}, {}, 2000),
    ({"max_lines": 3}, {}, 3),
    ({"max_lines": 3}, {"TOOLS_READ_MAX_LINES": "2"}, 2),
    ({}, {"TOOLS_READ_MAX_LINES": "2"}, 2),
    ({"max_lines": 0}, {}, 2000),
    ({"max_lines": -1}, {}, 2000),
]


@pytest.mark.parametrize(("manifest", "environment", "lines"), PRECEDENCE)
def test_adl_22_the_environment_wins_over_the_manifest_over_the_default(
    tmp_path: Path, manifest: dict[str, Any], environment: dict[str, str], lines: int
) -> None:
    """ADL-22, ADL-23: of the window that `read` gives."""

    @run_async
    async def story() -> None:
        (tmp_path / "long.txt").write_text("".join(f"{number}\n" for number in range(2500)), encoding="utf-8")
        async with workshop(tmp_path, environment, read=manifest) as on:
            assert (await on.gives("read", file_path="long.txt"))["lines_read"] == lines

    story()


@pytest.mark.parametrize("variable", ["A2A_READ_DISABLED", "TOOLS_READ_ENABLED"])
def test_adl_22_the_environment_switches_a_tool_off(tmp_path: Path, variable: str) -> None:
    """ADL-22: by the kill switch of one target, or by the setting of the other."""

    @run_async
    async def story() -> None:
        value = "true" if variable.startswith("A2A") else "false"
        (tmp_path / "a.txt").write_text("a", encoding="utf-8")
        async with workshop(tmp_path, {variable: value}, read={}) as on:
            assert (await on.refused("read", file_path="a.txt"))[0] == "capability_gap"

    story()


def test_adl_22_the_environment_switches_a_tool_on(tmp_path: Path) -> None:
    """ADL-22: one that the manifest lists and leaves off; the environment has the last word."""

    @run_async
    async def story() -> None:
        (tmp_path / "a.txt").write_text("a", encoding="utf-8")
        async with workshop(tmp_path, {"TOOLS_READ_ENABLED": "true"}, read={"enabled": False}) as on:
            assert (await on.gives("read", file_path="a.txt"))["content"].strip() == "a"

    story()


def test_adl_22_lists_are_separated_by_commas(tmp_path: Path) -> None:
    """ADL-22, ADL-26"""

    @run_async
    async def story() -> None:
        environment = {"TOOLS_WRITE_ALLOWED_ROOTS": "notes, drafts"}
        async with workshop(tmp_path, environment, write={"allowed_roots": ["other"]}) as on:
            for folder in ("notes", "drafts"):
                await on.gives("write", file_path=f"{folder}/a.txt", content="a")
            assert (await on.refused("write", file_path="other/a.txt", content="a"))[0] == "sandbox_violation"

    story()


def test_adl_23_read_gives_a_slice(tmp_path: Path) -> None:
    """ADL-23: six fields, lines counted from 1; pictures are refused."""

    @run_async
    async def story() -> None:
        (tmp_path / "five.txt").write_text("1\n2\n3\n4\n5\n", encoding="utf-8")
        async with workshop(tmp_path, read={}) as on:
            given = await on.gives("read", file_path="five.txt", offset=2, limit=3)
            assert set(given) == {"file_path", "offset", "limit", "lines_read", "total_lines", "content"}
            assert (given["lines_read"], given["total_lines"], given["content"]) == (3, 5, "2\n3\n4\n")
            for ending in ("png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "PNG"):
                (tmp_path / f"picture.{ending}").write_text("no picture", encoding="utf-8")
                assert (await on.refused("read", file_path=f"picture.{ending}")) == ("invalid_arguments", "image_file")

    story()


def test_adl_24_nothing_leads_out_of_the_roots(tmp_path: Path) -> None:
    """ADL-24: neither `..`, nor an absolute path, nor a link; inside, all of them do."""

    @run_async
    async def story() -> None:
        root = tmp_path / "work"
        (root / "inside").mkdir(parents=True)
        (root / "inside" / "a.txt").write_text("a", encoding="utf-8")
        for place in (tmp_path / "secret.txt", root / "beside.txt"):
            place.write_text("secret", encoding="utf-8")
        (root / "inside" / "out").symlink_to(tmp_path)
        (root / "inside" / "link.txt").symlink_to(tmp_path / "secret.txt")
        (root / "inside" / "same.txt").symlink_to("a.txt")
        async with workshop(root, read={"allowed_roots": ["inside"]}) as on:
            for path in (
                "../secret.txt", "inside/../../secret.txt", "beside.txt", str(tmp_path / "secret.txt"), "/etc/passwd",
                "inside/out/secret.txt", "inside/link.txt",
            ):  # fmt: skip
                assert (await on.refused("read", file_path=path))[0] == "sandbox_violation", path
            for path in ("inside/a.txt", str(root / "inside" / "a.txt"), "inside/../inside/a.txt", "inside/same.txt"):
                assert (await on.gives("read", file_path=path))["content"] == "a"

    story()


def test_adl_25_bash_runs_what_the_whitelist_lets(tmp_path: Path) -> None:
    """ADL-25: `ls -l` is fine, `lsof` is not, chaining is refused whatever the list says; four fields."""

    @run_async
    async def story() -> None:
        (tmp_path / "here.txt").touch()
        async with workshop(tmp_path, bash={"whitelist": ["ls", "echo hello"]}) as on:
            given = await on.gives("bash", command=" ls -l ")
            assert {"command", "exit_code", "duration_ms", "output"} <= set(given)
            assert given["exit_code"] == 0
            assert "here.txt" in given["output"]
            assert (await on.gives("bash", command="echo hello you"))["output"] == "hello you\n"
            for command in ("lsof", "rm here.txt", "echo", "/bin/ls"):
                assert (await on.refused("bash", command=command))[0] == "sandbox_violation", command
            for command in (
                "ls; rm here.txt",
                "ls && ls",
                "ls | cat",
                "ls $(rm here.txt)",
                "ls > x",
                "ls `ls`",
                "ls\nls",
            ):
                assert (await on.refused("bash", command=command))[0] == "invalid_arguments", command
            assert (tmp_path / "here.txt").exists()
            assert (await on.gives("bash", command="ls nothing"))["exit_code"] != 0

    story()


def test_adl_25_a_command_that_takes_too_long(tmp_path: Path) -> None:
    """ADL-25, ADL-22: exit code -1 and an error; the environment's limit wins."""

    @run_async
    async def story() -> None:
        async with workshop(tmp_path, {"TOOLS_BASH_TIMEOUT_SECONDS": "1"}, bash={"timeout_seconds": 60}) as on:
            result = await on.call("bash", command="sleep 20")
            assert (result.status, result.error and result.error.error_class) == ("timed_out", "timeout")
            assert result.structured_content["exit_code"] == -1
            assert result.structured_content["error"]

    story()


def test_at_203_progress_of_a_command(tmp_path: Path) -> None:
    """AT-203: time, bytes of both outputs, lines, the time limit and the exit code."""

    @run_async
    async def story() -> None:
        async with workshop(tmp_path, bash={"timeout_seconds": 7}) as on:
            result = await on.call("bash", command="sh -c 'echo one; echo two; echo oops >&2; exit 3'")
            assert result.error is None
            await on.app.store.flush()
            rows = await on.app.store.rows_of(result.invocation_id)
            record = make_invocation_record(Story(rows, await on.app.store.news_of(result.invocation_id)))
            last = record["progress"][-1]
            assert (last["stdout_bytes"], last["stderr_bytes"], last["exit_code"]) == (8, 5, 3)
            assert last["line_count"] == 3
            assert 0 < last["timeout_ms"] <= 7000
            assert last["elapsed_ms"] >= 0
            [native] = [ref for ref in record["external_mappings"] if ref["source"] == "cli"]
            assert native["exit_code"] == 3

    story()


def test_adl_26_write_makes_folders(tmp_path: Path) -> None:
    """ADL-26: two fields, bytes counted; an old file is replaced; roots hold."""

    @run_async
    async def story() -> None:
        async with workshop(tmp_path, write={"allowed_roots": ["out"]}) as on:
            given = await on.gives("write", file_path="out/deep/er/a.txt", content="grüezi")
            assert set(given) == {"file_path", "bytes_written"}
            assert given["bytes_written"] == 7
            await on.gives("write", file_path="out/deep/er/a.txt", content="b")
            assert (tmp_path / "out" / "deep" / "er" / "a.txt").read_text(encoding="utf-8") == "b"
            assert (await on.refused("write", file_path="elsewhere/a.txt", content="a"))[0] == "sandbox_violation"
            assert not (tmp_path / "elsewhere").exists()

    story()


def test_adl_27_edit_replaces_what_occurs_once(tmp_path: Path) -> None:
    """ADL-27: none, two and nothing at all are errors, and the file stays as it was."""

    @run_async
    async def story() -> None:
        file = tmp_path / "a.txt"
        file.write_text("one two two three", encoding="utf-8")
        async with workshop(tmp_path, edit={}) as on:
            given = await on.gives("edit", file_path="a.txt", old_string="one", new_string="ONE")
            assert (set(given), given["replacements"]) == ({"file_path", "replacements"}, 1)
            before = file.read_bytes()
            for text in ("nothing", "two", ""):
                refused = await on.refused("edit", file_path="a.txt", old_string=text, new_string="x")
                assert refused[0] == "invalid_arguments", text
                assert file.read_bytes() == before

    story()


def test_adl_28_fetch_gets_what_it_may(tmp_path: Path) -> None:
    """ADL-28: fields, truncation, hosts, schemes, methods."""

    @run_async
    async def story() -> None:
        with running_web(index=answer(b"x" * 100, Content_Type="text/plain")) as server:
            async with workshop(tmp_path, fetch={"allowed_domains": ["127.0.0.1"], "max_bytes": 10}) as on:
                given = await on.gives("fetch", url=server.url())
                assert {"url", "method", "status_code", "duration_ms", "headers"} <= set(given)
                assert (given["body"], given["bytes_read"], given["truncated"]) == ("x" * 10, 10, True)
                assert (await on.gives("fetch", url=server.url(), method="HEAD"))["status_code"] == 200
                assert (await on.gives("fetch", url=server.url("/none")))["status_code"] == 404
                assert (await on.refused("fetch", url="http://other.example/"))[1] == "domain_not_allowed"
                assert (await on.refused("fetch", url="file:///etc/passwd"))[0] == "invalid_arguments"
                assert (await on.refused("fetch", url=server.url(), method="POST"))[0] == "schema_validation_failed"

    story()


def test_adl_28_redirects_are_judged_again(tmp_path: Path) -> None:
    """ADL-28: one that leads to a host that is not listed is not followed."""

    @run_async
    async def story() -> None:
        with running_web(
            index=redirect("http://other.example/"), inner=redirect("/page"), page=answer(b"here")
        ) as server:
            async with workshop(tmp_path, fetch={"allowed_domains": ["127.0.0.1"]}) as on:
                assert (await on.refused("fetch", url=server.url()))[0] == "sandbox_violation"
                assert (await on.gives("fetch", url=server.url("/inner")))["body"] == "here"

    story()


def test_adl_28_downloads_have_to_be_allowed_and_stay_in_their_folder(tmp_path: Path) -> None:
    """ADL-28: off by default, relative, without `..`, not with HEAD."""

    @run_async
    async def story() -> None:
        with running_web(index=answer(b"bytes")) as server:
            async with workshop(tmp_path / "off", fetch={"download_dir": "saved"}) as on:
                assert (await on.refused("fetch", url=server.url(), save_path="a.bin"))[0] == "capability_gap"
            saving = {"allow_downloads": True, "download_dir": "saved"}
            async with workshop(tmp_path / "on", fetch=saving) as on:
                given = await on.gives("fetch", url=server.url(), save_path="deep/a.bin")
                assert (given["bytes_written"], given["truncated"]) == (5, False)
                assert (tmp_path / "on" / "saved" / "deep" / "a.bin").read_bytes() == b"bytes"
                for path in ("../a.bin", "/tmp/a.bin", "deep/../../a.bin"):
                    assert (await on.refused("fetch", url=server.url(), save_path=path))[0] == "sandbox_violation"
                head = await on.refused("fetch", url=server.url(), save_path="b.bin", method="HEAD")
                assert head[0] == "invalid_arguments"

    story()


# What functions of an agent file are given

INJECTING = """
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Finds orders., version: "1.0.0"}
spec:
  capabilities: {streaming: false, pushNotifications: false, stateTransitionHistory: false}
  config:
    orders: {table: o_2026, key: "${ORDERS_KEY}"}
  services:
    orders: {type: repository, interface: Orders, factory: NewOrders, description: The orders.}
  tools:
    - id: find_order
      name: find_order
      description: Find an order by its id.
      tags: [orders]
      inject: [logger, orders, config.orders]
      schema: {type: object, properties: {id: {type: string, description: Its id.}}, required: [id]}
  server: {port: 8080}
  language: {go: {module: example.com/clerk, version: "1.24"}}
"""
FUNCTIONS = """
import ferrule

class Orders:
    def find(self, id): return f"order {id}"

@ferrule.service("orders")
def new_orders(): return Orders()

@ferrule.tool("clerk.find_order")
def find_order(id, logger, orders, orders_config):
    logger.info("looking")
    return {"found": orders.find(id), "table": orders_config["table"], "has_key": bool(orders_config["key"])}
"""


def played_in(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_async(story)()


def test_adl_30_a_function_is_given_what_its_manifest_injects(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """ADL-30, ADL-33, ADL-37: the service, its config beside it, the logger; `${VAR}` is filled in, and appears nowhere."""
    files = {
        "clerk.adl.yaml": INJECTING,
        "orders.py": FUNCTIONS,
        "ferrule.toml": '[functions]\nmodules = ["orders.py"]\n',
        "policy.toml": 'mode = "trusted"\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    async def story() -> None:
        with caplog.at_level(logging.INFO):
            async with ferrule.open(tmp_path, environment={"ORDERS_KEY": "k-47-secret"}, tends=False) as app:
                surface = app.surface(principal="ada")
                result = await surface.call("find_order", {"id": "A-1"})
                assert isinstance(result, Result)
                assert result.structured_content == {"found": "order A-1", "table": "o_2026", "has_key": True}
                shown = repr(surface.tools())
                refused = await surface.call("find_order", {"id": "A-1", "orders": "mine"})
        assert "looking" in caplog.text
        assert "orders_config" not in shown
        assert "k-47-secret" not in shown + caplog.text
        assert isinstance(refused, Result)
        assert refused.structured_content is None or "mine" not in repr(refused)

    played_in(story)


def test_adl_37_a_variable_that_is_missing_is_named(tmp_path: Path) -> None:
    """ADL-37, ADL-30: the tool waits for its set-up; nothing is guessed."""
    for name, text in (("clerk.adl.yaml", INJECTING), ("orders.py", FUNCTIONS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["orders.py"]\n[policy]\nmode = "trusted"\n')

    async def story() -> None:
        async with ferrule.open(tmp_path, environment={}, tends=False) as app:
            result = await app.surface(principal="ada").call("find_order", {"id": "A-1"})
            assert isinstance(result, Result)
            assert result.error is not None
            assert result.error.error_class == "setup_required"
            assert "ORDERS_KEY" in result.error.message

    played_in(story)
