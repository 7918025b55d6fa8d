"""What AML and ADL say about calls: agents, limits, approvals, built-ins. The `run` lines of AML and ADL."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.app.follower import Follower
from ferrule.app.surface import SurfaceHandle
from ferrule.model.result import Pending, Result
from ferrule.testing import RecordingSink, ScriptedApprover, memory_app
from tests.spec.running_app import TRUSTED, RecordingExecutor, run_async

TOOL = """\
---
spec_version: "1.2"
tool_id: NAME
version: "1.0.0"
status: active
meta: {name: NAME, description: Does NAME. Use it when NAME is needed., owner: shop}
type: TYPE
EXTRAinterface:
  input: {type: object, properties: {city: {type: string, description: Where.}}, required: [city], additionalProperties: false}
  output: {type: object}
transport: {type: rest-api, base_url: "https://store.example/api", endpoint: POST /x, credentials: {scheme: none}}
use_guidance: {use_when: [always], avoid_when: [never], side_effects: Some.}
---
"""
ROLE = """\
---
spec_version: "1.2"
iam_id: clerk
version: "1.0.0"
status: active
meta: {name: Clerk, description: What clerks may touch., owner: shop}
cloud: {provider: aws, role_arn: "arn:aws:iam::210987654321:role/clerk"}
tools:
  - ref: look
  - ref: pay
    ROLE_SAYS
---
"""
AGENT = """\
---
spec_version: "1.2"
agent_id: desk
version: "1.0.0"
status: active
meta: {name: Desk, description: Answers mail., owner: shop}
role: clerk
tools:
  tool_choice: CHOICE
  refs:
    - ref: look
    - ref: pay
      AGENT_SAYS
knowledge: {refs: []}
interface:
  input: {examples: [{message: Hello.}]}
  output: {schema: {type: object, properties: {reply: {type: string, description: The mail.}}, required: [reply]}}
observability: {exporter: otlp}
runtime: {temperature: 0.3RUNTIME}
MORE
---

# Purpose

Answers mail.

# System behavior

Looks first.

# Rules

- Be kind.
"""
CITY = {"city": "Bern"}


def shop(**said: str) -> dict[str, str]:
    """Definitions of two tools, their role and their agent, with what a test wants them to say."""

    def tool(name: str, kind: str, extra: str = "") -> str:
        return TOOL.replace("NAME", name).replace("TYPE", kind).replace("EXTRA", extra)

    agent = AGENT.replace("CHOICE", said.get("choice", "auto")).replace("RUNTIME", said.get("runtime", ""))
    agent = agent.replace("AGENT_SAYS", said.get("agent", "approval_required: false")).replace(
        "MORE", said.get("more", "")
    )
    return {
        "tools/look.tool.md": tool("look", "retrieval"),
        "tools/pay.tool.md": tool("pay", "action", said.get("tool", "")),
        "tools/secret.tool.md": tool("secret", "action"),
        "iam/clerk.iam.md": ROLE.replace("ROLE_SAYS", said.get("role", "approval_required: false")),
        "agents/desk.agent.md": agent,
    }


def desk(executor: RecordingExecutor, policy: str = TRUSTED, **said: str) -> Any:
    return memory_app(definitions=shop(**said), executors=[executor], policy=policy)


async def result_of(surface: SurfaceHandle, name: str) -> Result:
    outcome = await surface.call(name, CITY)
    assert isinstance(outcome, Result), outcome
    return outcome


@run_async
async def test_aml_19_an_action_is_never_answered_from_memory() -> None:
    """AML-19: two identical calls reach the system behind twice."""
    executor = RecordingExecutor(default={})
    async with desk(executor) as app:
        surface = app.surface(agent="desk")
        for _ in range(2):
            assert not (await result_of(surface, "pay")).is_error
    assert len(executor.ran) == 2


@run_async
async def test_aml_88_only_tools_of_the_agents_payload_can_be_called() -> None:
    """AML-88, AT-64: another tool of the catalog is refused, told apart from one that does not exist, and on record."""
    executor = RecordingExecutor(default={})
    async with desk(executor) as app:
        surface = app.surface(agent="desk")
        assert not (await result_of(surface, "look")).is_error
        refused, unknown = await result_of(surface, "secret"), await result_of(surface, "nothing")
        assert refused.error is not None and unknown.error is not None
        assert (refused.error.error_class, refused.error.error_code) == ("unknown_tool", "tool_not_surfaced")
        assert (unknown.error.error_class, unknown.error.error_code) == ("unknown_tool", "tool_not_found")
        assert await app.store.rows_of(refused.invocation_id)
    assert [ran.tool_id for ran in executor.ran] == ["look"]


@run_async
async def test_aml_90_a_choice_of_none_shows_and_calls_nothing() -> None:
    """AML-90: advertised, not callable."""
    executor = RecordingExecutor(default={})
    async with desk(executor, choice="none") as app:
        surface = app.surface(agent="desk")
        assert {tool.name for tool in surface.tools().tools} == {"look", "pay"}
        assert surface.tools().tool_choice == "none"
        refused = await result_of(surface, "look")
        assert refused.error is not None
        assert refused.error.error_class == "policy_blocked"
    assert not executor.ran


@run_async
async def test_aml_102_a_tool_has_a_number_of_calls_per_run() -> None:
    """AML-102: call n+1 is refused with a reason; another run counts for itself; the strictest number counts (AML-92)."""
    executor = RecordingExecutor(default={})
    async with desk(executor, role="max_calls_per_run: 5", agent="max_calls_per_run: 2") as app:
        surface = app.surface(agent="desk")
        outcomes = [await result_of(surface, "pay") for _ in range(3)]
        assert [outcome.is_error for outcome in outcomes] == [False, False, True]
        error = outcomes[-1].error
        assert error is not None
        assert error.error_class == "policy_blocked"
        assert "2" in error.message
        assert not (await result_of(surface, "look")).is_error
        assert not (await result_of(app.surface(agent="desk"), "pay")).is_error
    assert len([ran for ran in executor.ran if ran.tool_id == "pay"]) == 3


@pytest.mark.parametrize("run_id", [None, "run-1"])
@run_async
async def test_aml_102_an_agent_has_a_number_of_calls_per_run(run_id: str | None) -> None:
    """AML-102: all tools together; over surfaces too, where the caller named the run."""
    executor = RecordingExecutor(default={})
    async with desk(executor, runtime=", max_tool_calls: 2") as app:
        surface = app.surface(agent="desk", run_id=run_id)
        assert not (await result_of(surface, "look")).is_error
        if run_id is not None:
            surface = app.surface(agent="desk", run_id=run_id)
        assert not (await result_of(surface, "pay")).is_error
        refused = await result_of(surface, "look")
        assert refused.error is not None
        assert refused.error.error_class == "policy_blocked"
    assert len(executor.ran) == 2


APPROVALS = {
    "the tool": {
        "tool": "approval_required: true\n",
        "role": "approval_required: true",
        "agent": "approval_required: true",
    },
    "the role": {"role": "approval_required: true", "agent": "approval_required: true"},
    "the agent": {"agent": "approval_required: true"},
    "a confirmation": {"more": "guardrails: {tool_calls: {require_user_confirmation_for: [pay]}}"},
    "a policy for all tools": {"more": "policies: {require_human_approval: true}"},
}


@pytest.mark.parametrize("whose", APPROVALS)
@run_async
async def test_aml_103_nothing_is_sent_before_a_person_approves(whose: str) -> None:
    """AML-103, AML-92: whoever demands it; and a refusal is returned to the model."""
    executor = RecordingExecutor(default={})
    async with desk(executor, **APPROVALS[whose]) as app:
        surface = app.surface(agent="desk")
        assert isinstance(await surface.call("pay", CITY), Pending)
        assert not executor.ran
        [rejected] = await ScriptedApprover(app, "too dear").work()
        assert isinstance(rejected, Result)
        assert rejected.status == "rejected"
        assert "too dear" in rejected.text
        assert isinstance(await surface.call("pay", CITY), Pending)
        await ScriptedApprover(app).work()
    assert [ran.tool_id for ran in executor.ran] == ["pay"]


@run_async
async def test_aml_103_no_lower_rule_lifts_what_a_definition_demands() -> None:
    """AML-103, AT-123: an allow of the session does not; a rule of the policy that names the tool does."""
    executor = RecordingExecutor(default={})
    rule = {"decision": "allow", "tool": "pay"}
    async with desk(executor, **APPROVALS["the agent"]) as app:
        assert isinstance(await app.surface(agent="desk", rules=(rule,)).call("pay", CITY), Pending)
    policy = TRUSTED + '[[rules]]\ndecision = "allow"\ntool = "pay"\n'
    async with desk(executor, policy, **APPROVALS["the agent"]) as app:
        assert not (await result_of(app.surface(agent="desk"), "pay")).is_error


MANIFEST = """\
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: helper, description: Helps, version: 1.0.0}
spec:
  capabilities: {streaming: true, pushNotifications: false, stateTransitionHistory: false}
  server: {port: 8080}
  language: {go: {module: example.com/helper, version: "1.24"}}
  config: {tools: {read: {enabled: true}}}
  tools:
    - id: read
    - id: bash
"""


@run_async
async def test_adl_20_a_built_in_that_is_not_enabled_says_which_setting() -> None:
    """ADL-20: listed, refused when called, and the refusal names the setting."""
    executor = RecordingExecutor(default="x")
    async with memory_app(definitions={"helper.yaml": MANIFEST}, executors=[executor], policy=TRUSTED) as app:
        surface = app.surface(agent="helper")
        refused = await surface.call("bash", {"command": "ls"})
        assert isinstance(refused, Result)
        assert refused.error is not None
        assert "spec.config.tools.bash.enabled" in refused.error.message
    assert not executor.ran


@run_async
async def test_at_90_a_definition_file_becomes_a_call() -> None:
    """AT-90: an Agent Tool declaration with its interface and profile, from files to a recorded result."""
    declaration = {
        "schema_version": "0.2.0",
        "tool_id": "tool_notes",
        "namespace": "notes",
        "name": "search",
        "aliases": ["find"],
        "description": "Search the notes. Not for mail.",
        "lifecycle": "available",
        "tool_kind": "retrieval",
        "input_contract": {
            "model_input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        },
        "tool_interface": {"is_read_only": True, "timeout_ms": 5000},
        "permission_profile": {"risk_level": "low", "approval_required": True},
    }
    executor = RecordingExecutor(default={"notes": []})
    files = {"notes.json": msgspec.json.encode(declaration).decode()}
    async with memory_app(definitions=files, executors=[executor], policy="") as app:
        surface = app.surface()
        assert isinstance(await surface.call("find", CITY), Pending)
        [result] = await ScriptedApprover(app).work()
        assert isinstance(result, Result)
        assert result.structured_content == {"notes": []}
    assert [ran.tool_id for ran in executor.ran] == ["tool_notes"]


@pytest.mark.parametrize(
    ("level", "is_told", "has_arguments"), [("none", False, False), ("standard", True, False), ("full", True, True)]
)
def test_aml_107_an_agents_file_says_how_much_is_told(level: str, is_told: bool, has_arguments: bool) -> None:
    """AML-107: a sink that wants everything gets no more of an agent's calls than the agent's file allows."""

    @run_async
    async def story() -> None:
        sink = RecordingSink()
        async with desk(RecordingExecutor(default={}), more=f"policies: {{audit_level: {level}}}") as app:
            follower = Follower(app.store, sink, source="test", level="full")
            follower.start()
            result = await result_of(app.surface(agent="desk"), "look")
            await app.store.flush()
            await follower.aclose()
        told = [event for event in sink.events if event.invocation_id == result.invocation_id]
        assert bool(told) is is_told
        assert ("Bern" in str(told)) is has_arguments

    story()
