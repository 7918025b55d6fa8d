"""What a hook's word about permission weighs: it tightens; it loosens only where the policy says so."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import ferrule
from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.diagnostic import Severity
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.runtime.policy.read import read_text
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import RAN, act, hook, look, run_story

TRUSTS = 'authoritative_hooks = ["guard"]\n'
ALLOW = HookOutput(permission="allow", permission_reason="I know them")
BOB = Identity("bob", "desk", frozenset({APPROVE}))


@ferrule.tool(approval_required=True)
async def careful(city: str = "Bern") -> str:
    """Wants a person."""
    RAN.append(city)
    return "done"


def rule(decision: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{decision}-it", "decision": decision, "tool": "*", **more}


def asked(
    *hooks: Any, tool: Any = act, policy: str = "", rules: tuple[dict[str, Any], ...] = (), is_interactive: bool = True
) -> tuple[Result | Pending, list[dict[str, Any]]]:
    """What became of a call, and the decisions about it."""
    found: list[Any] = []

    async def story() -> None:
        async with memory_app(tools=[tool], hooks=hooks, policy=policy) as app:
            surface = app.surface(rules=rules, is_interactive=is_interactive)
            outcome = await surface.call(tool.__name__, {"city": "Bern"})
            await app.store.flush()
            kept = Story(await app.store.rows_of(outcome.invocation_id))
            decisions = [made.to_record(kept.invocation_id, number) for number, made in enumerate(kept.decisions)]
            found.extend((outcome, decisions))

    run_story(story)
    return found[0], found[1]


def test_an_authoritative_hook_settles_what_no_rule_decides() -> None:
    """AT-153: the decision says so, and names the policy."""
    result, (decision,) = asked(hook(ALLOW), policy=TRUSTS)
    assert isinstance(result, Result) and not result.is_error and RAN
    assert (decision["behavior"], decision["reason"]["type"]) == ("allow", "hook")
    assert "'guard'" in decision["reason"]["message"]
    assert decision["policy_refs"][0].startswith("policy.toml@")


def test_an_authoritative_hook_settles_an_ask_of_a_lower_source() -> None:
    """AT-153, AT-135: rules of a caller's own are below policy_settings."""
    result, _ = asked(hook(ALLOW), policy=TRUSTS, rules=(rule("ask", source="session"),))
    assert isinstance(result, Result) and RAN


def test_an_authoritative_hook_answers_where_nobody_can_be_asked() -> None:
    """AT-153, AT-142: the question is answered, so it is none."""
    result, _ = asked(hook(ALLOW), policy=TRUSTS, is_interactive=False)
    assert isinstance(result, Result) and not result.is_error and RAN


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        (TRUSTS + '[[rules]]\ndecision = "deny"\ntool = "*"\n', ()),
        (TRUSTS + '[[rules]]\ndecision = "ask"\ntool = "*"\n', ()),
        (TRUSTS, (rule("deny", source="session"),)),
        (TRUSTS + 'mode = "locked"\n', ()),
        (TRUSTS + 'mode = "ask_all"\n', ()),
        ("", ()),
        ('authoritative_hooks = ["another"]\n', ()),
    ],
)
@pytest.mark.parametrize("is_interactive", [True, False])
def test_a_hooks_yes_weighs_nothing_otherwise(
    policy: str, rules: tuple[dict[str, Any], ...], is_interactive: bool
) -> None:
    """AT-152, AT-153, AT-135: neither a deny of anybody, nor an ask of policy_settings or its mode; nor without the policy."""
    result, _ = asked(hook(ALLOW), policy=policy, rules=rules, is_interactive=is_interactive)
    assert not RAN
    assert isinstance(result, Pending) or result.status == "denied"


@pytest.mark.parametrize("rules", [(), (rule("ask", source="session"),)])
def test_a_hook_does_not_lift_what_a_definition_requires(rules: tuple[dict[str, Any], ...]) -> None:
    """AT-123, AT-153: also where another rule asks besides; only a rule of policy_settings that names the tool lifts it."""
    result, _ = asked(hook(ALLOW), tool=careful, policy=TRUSTS, rules=rules)
    assert isinstance(result, Pending) and not RAN
    lifted = TRUSTS + '[[rules]]\ndecision = "allow"\ntool = "careful"\n'
    result, _ = asked(hook(ALLOW), tool=careful, policy=lifted, rules=rules)
    assert isinstance(result, Result) and RAN


@pytest.mark.parametrize("other", ["ask", "deny"])
def test_another_hooks_doubt_outweighs_an_authoritative_yes(other: Any) -> None:
    """AT-153, AT-154: the strictest word counts, whoever speaks first."""
    doubt = hook(HookOutput(permission=other), name="other")
    for hooks in ((doubt, hook(ALLOW)), (hook(ALLOW), doubt)):
        result, _ = asked(*hooks, policy=TRUSTS)
        assert not RAN
        assert isinstance(result, Pending) or result.status == "denied"


def test_only_the_reviewers_file_may_make_a_hook_authoritative() -> None:
    """AT-153"""
    assert read_text(TRUSTS, "policy_settings", "policy.toml").file.authoritative_hooks == ("guard",)
    for source in ("project_settings", "local_settings", "user_settings", "session"):
        read = read_text(TRUSTS, source, "other.toml")
        assert read.file.authoritative_hooks == ()
        assert [finding.severity for finding in read.findings] == [Severity.ERROR]
        assert "only policy.toml" in (read.findings[0].hint or "")
    assert read_text("authoritative_hooks = [7]", "policy_settings", "policy.toml").errors


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_decision", "permission_request"])
def test_a_hooks_no_is_final_at_every_event_around_permission(event: Any) -> None:
    """AT-154: permission_denied, and the decision names the hook."""
    result, decisions = asked(hook(HookOutput(permission="deny", permission_reason="not today"), event))
    assert isinstance(result, Result) and result.error is not None and not RAN
    assert (result.error.error_class, result.status) == ("permission_denied", "denied")
    assert "not today" in result.error.message
    assert (decisions[-1]["behavior"], decisions[-1]["reason"]["type"]) == ("deny", "hook")


def test_a_decision_hook_can_take_back_an_allow() -> None:
    """AT-154, AT-131: both decisions are on record; also where the allow is the same for every call."""
    result, decisions = asked(hook(HookOutput(permission="deny"), "permission_decision"), tool=look)
    assert isinstance(result, Result) and result.status == "denied" and not RAN
    assert [made["behavior"] for made in decisions] == ["allow", "deny"]


def test_a_decision_hook_can_take_back_a_persons_yes() -> None:
    """AT-154: and the person's yes stays on record."""

    async def story() -> None:
        def objecting(told: HookInput) -> HookOutput | None:
            return HookOutput(permission="deny") if told.decision and told.decision["by"] else None

        async with memory_app(tools=[act], hooks=[hook(objecting, "permission_decision")]) as app:
            waiting = await app.surface().call("act")
            assert isinstance(waiting, Pending)
            result = (await app.inbox(BOB).approve(waiting.invocation_id)).result
            assert isinstance(result, Result) and result.status == "denied" and not RAN
            kept = Story(await app.store.rows_of(result.invocation_id))
            assert [(made.ruling.behavior, made.by) for made in kept.decisions] == [
                ("ask", None),
                ("allow", "bob"),
                ("deny", None),
            ]
            assert kept.status == "blocked", "an approved call that goes no further"

    run_story(story)


@pytest.mark.parametrize("event", ["permission_decision", "permission_request"])
def test_a_broken_hook_around_permission_blocks(event: Any) -> None:
    """AT-158"""

    def broken(told: HookInput) -> HookOutput:
        raise OSError("s3cret")

    result, _ = asked(hook(broken, event))
    assert isinstance(result, Result) and result.error is not None and not RAN
    assert (result.error.error_class, result.error.error_code, result.status) == (
        "hook_blocked",
        "hook_failed",
        "failed",
    )


def test_a_broken_hook_does_not_hide_a_denial() -> None:
    """AT-158: what the rules said stays the reason."""

    def broken(told: HookInput) -> HookOutput:
        raise OSError("s3cret")

    deny = '[[rules]]\ndecision = "deny"\ntool = "*"\nwhen = { city = "Bern" }\n'
    result, _ = asked(hook(broken, "permission_decision"), policy=deny)
    assert isinstance(result, Result) and result.error is not None
    assert result.error.error_class == "permission_denied"


def test_a_hook_that_asks_where_nobody_can_be_asked_is_a_no() -> None:
    """AT-142, AT-154: it ends, and does not wait for ever."""
    result, _ = asked(hook(HookOutput(permission="ask")), tool=look, is_interactive=False)
    assert isinstance(result, Result) and result.status == "denied" and not RAN
    assert "nobody can be asked" in result.text


def test_permission_is_decided_on_what_hooks_left() -> None:
    """AT-80, AT-81, AT-151: the last of a chain of changes is what is judged."""
    deny = 'mode = "trusted"\n[[rules]]\ndecision = "deny"\ntool = "*"\nwhen = { city = "Basel" }\n'
    hooks = [
        hook(HookOutput(updated_input={"city": "Basel"}), name="one"),
        hook(lambda told: HookOutput(updated_input={"city": told.observable_input["city"] + "!"}), name="two"),
    ]
    result, _ = asked(hooks[0], policy=deny)
    assert isinstance(result, Result) and result.status == "denied" and not RAN
    result, _ = asked(*hooks, policy=deny)
    assert isinstance(result, Result) and not result.is_error and RAN == ["Basel!"]
    assert [note.source_ref for note in result.input_mutations] == ["one", "two"]


def test_changes_form_a_chain_from_the_models_input_to_what_ran() -> None:
    """AT-151, AT-150"""

    async def story() -> None:
        hooks = [hook(HookOutput(updated_input={"city": name}), name=name) for name in ("a", "b", "c")]
        async with memory_app(tools=[look], hooks=hooks) as app:
            result = await app.surface().call("look", {"city": "Bern"})
            await app.store.flush()
            changes = Story(await app.store.rows_of(result.invocation_id)).mutations
        assert changes[0].from_input == "model_input" and changes[-1].to_input == "call_input"
        assert all(one.to_input == next_.from_input for one, next_ in pairwise(changes))

    run_story(story)
