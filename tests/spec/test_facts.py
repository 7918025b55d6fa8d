"""Safety facts at run time: availability, matchers, and what is not known counts against the call: AT-36 to AT-54."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.policy import Classification
from ferrule.model.result import Pending
from ferrule.model.tool import Tool
from ferrule.runtime.policy.classifiers import ShellClassifier
from tests.runtime.surface.surfaces import FakeReadiness
from tests.spec.running_app import TRUSTED, RunningApp, make_tool, run_async, running_app

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def told(on: RunningApp, name: str = "search") -> tuple[str, str | None]:
    entry = on.surface.surface.entries[f"shop.{name}"]
    return entry.standing, entry.reason


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (make_tool(interface={"is_enabled": False}), "feature_disabled"),
        (make_tool(interface={"feature_gate_refs": ["beta"]}), "feature_disabled"),
        (make_tool(interface={"requires_setup": True}), "setup_required"),
        (make_tool(interface={"required_credentials": ["KEY"]}), "credential_missing"),
        (make_tool(interface={"model_requirements": {"media": True}}), "model_unsupported"),
    ],
)
@run_async
async def test_at_36_availability_decides_membership(tool: Tool, reason: str) -> None:
    """AT-36: each failure has its own reason, and none of the tools can be called."""
    readiness = FakeReadiness(missing=["KEY"], is_set_up=False)
    async with running_app(tool, readiness=readiness, caller={"model_capabilities": {"media": False}}) as on:
        standing, found = told(on)
        assert standing in ("blocked", "excluded")
        assert found == reason
        assert (await on.call()).is_error
        assert not on.has_run


@run_async
async def test_at_37_always_load_wins() -> None:
    """AT-37: over should_defer, and over the deferral of a large catalog."""
    tools = [make_tool(f"tool_{number}") for number in range(60)]
    both = {"always_load": True, "should_defer": True}
    async with running_app(
        *tools, make_tool("core", interface={"always_load": True}), make_tool("both", interface=both)
    ) as on:
        shown = {tool.name for tool in on.surface.tools().tools}
        assert shown == {"core", "both", "search_tools"}
        assert not (await on.call("core")).is_error


class Probing:
    """An executor whose preflight looks at the disk."""

    support = None

    def __init__(self) -> None:
        self.probed: list[dict[str, Any]] = []

    def can_run(self, tool: Tool) -> bool:
        return tool.name == "read"

    def prepare(self, tool: Tool) -> Any:
        probed = self.probed

        class Run:
            def __call__(self, arguments: dict[str, Any], context: Any) -> str:
                return "read"

            def preflight(self, arguments: dict[str, Any]) -> None:
                probed.append(arguments)

        return Run()

    async def aclose(self) -> None:
        """Nothing to let go of."""


@run_async
async def test_at_39_a_denied_path_is_not_even_probed() -> None:
    """AT-39: with deny_before_io; another path is probed and read."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    read = make_tool("read", schema, interface={"deny_before_io": True}, tool_kind="file_operation")
    policy = TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "read"\npath = "/etc/**"\n'
    probing = Probing()
    async with running_app(read, executors=(probing,), policy=policy) as on:
        result = await on.call("read", {"path": "/etc/shadow"})
        assert result.error is not None
        assert (result.error.error_class, result.status) == ("permission_denied", "denied")
        assert not probing.probed
        assert len(await on.read_decisions(result)) == 1
        assert not (await on.call("read", {"path": "/srv/a"})).is_error
        assert len(probing.probed) == 1


MATCHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "tool": ('tool = "act"', {}),
    "path": ('path = "/etc/**"', {"path": "/etc/passwd"}),
    "command": ('command = "rm *"', {"command": "rm -rf x"}),
    "url": ('url = "https://evil.example/**"', {"url": "https://evil.example/a"}),
    "resource": ('resource = "orders/*"', {"resource_id": "orders/7"}),
    "native_id": ('native_id = "deleteOrder"', {}),
}


@pytest.mark.parametrize("kind", MATCHERS)
@run_async
async def test_at_40_each_kind_of_matcher_hits(kind: str) -> None:
    """AT-40: a rule for each of the six; where it fits the call is denied."""
    names = ("path", "command", "url", "resource_id")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    mapping = [{"source": "openapi", "operation_id": "deleteOrder"}]
    matcher, arguments = MATCHERS[kind]
    act = make_tool("act", schema, external_mappings=mapping)
    other = {"path": "/srv/a", "command": "ls", "url": "https://good.example/", "resource_id": "users/1"}
    async with running_app(act, policy=f'{TRUSTED}[[rules]]\nid = "hit"\ndecision = "deny"\n{matcher}\n') as on:
        denied = await on.call("act", arguments)
        assert denied.error is not None
        assert denied.status == "denied"
        assert not on.has_run
        if kind in arguments or kind == "resource":
            assert not (await on.call("act", other)).is_error


@run_async
async def test_at_42_a_name_proves_nothing() -> None:
    """AT-42, AT-276: `read_x` without the fact is an action: it asks, and it would be recorded before it ran."""
    async with running_app(make_tool("read_x"), make_tool("look", is_read_only=True), policy="") as on:
        assert isinstance(await on.surface.call("read_x", {"city": "Bern"}), Pending)
        assert not (await on.call("look")).is_error


@run_async
async def test_at_49_unstated_is_possibly_destructive() -> None:
    """AT-49, AT-43, AT-276: a policy that asks for destructive tools asks for those that say nothing."""
    policy = TRUSTED + '[[rules]]\ndecision = "ask"\ntool = "*"\nfacts = { is_destructive = true }\n'
    async with running_app(make_tool("silent"), make_tool("stated", is_destructive=False), policy=policy) as on:
        assert isinstance(await on.surface.call("silent", {"city": "Bern"}), Pending)
        assert not (await on.call("stated")).is_error


def shell(flag: str = "classifier:shell") -> Tool:
    return make_tool(
        "run",
        COMMAND,
        tool_kind="shell_command",
        is_read_only=flag,
        is_concurrency_safe="same_as:is_read_only",
        classifier_input="input.command",
    )


@run_async
async def test_at_53_a_fact_may_depend_on_the_input() -> None:
    """AT-53: one declaration; `ls` only reads, `rm` does not."""
    async with running_app(shell(), policy="", classifiers=[ShellClassifier()]) as on:
        assert not (await on.call("run", {"command": "ls -l"})).is_error
        assert isinstance(await on.surface.call("run", {"command": "rm -rf /srv"}), Pending)
        assert [ran.arguments for ran in on.executor.ran] == [{"command": "ls -l"}]


class Broken:
    name = "shell"

    def classify(self, entry: Any, subject: Any) -> Classification:
        raise RuntimeError("no answer")


@pytest.mark.parametrize(
    ("flag", "classifiers"),
    [
        ("classifier:nobody", []),
        ("classifier:shell", [Broken()]),
        ("same_as:is_concurrency_safe", []),
        ("maybe", []),
    ],
)
@run_async
async def test_at_54_what_cannot_be_worked_out_is_taken_for_unsafe(flag: str, classifiers: list[Any]) -> None:
    """AT-54: an unknown or failing classifier, a circle, a word nobody knows: it asks, and what failed is on record."""
    async with running_app(shell(flag), policy="", classifiers=classifiers) as on:
        waiting = await on.surface.call("run", {"command": "ls"})
        assert isinstance(waiting, Pending)
        assert not on.has_run
        assert "is_read_only" in repr((await on.read_story(waiting)).notes)


@run_async
async def test_at_54_open_world_when_nobody_knows() -> None:
    """AT-54: the fail-closed value of is_open_world is true."""
    policy = TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "*"\nfacts = { is_open_world = true }\n'
    async with running_app(
        make_tool(is_open_world="classifier:nobody"), make_tool("shut", is_open_world=False), policy=policy
    ) as on:
        assert (await on.call()).status == "denied"
        assert not (await on.call("shut")).is_error
