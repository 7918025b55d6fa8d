"""Permission: profiles are facts, decisions are records, and nothing runs without one: AT-120 to AT-143."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ferrule.contracts.policy import Classification
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.decision import RULE_SOURCES, ReasonType
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.testing import FakeClock, ScriptedApprover
from tests.spec.running_app import BERN, TRUSTED, RunningApp, assert_required, make_tool, run_async, running_app

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
ROME = {"city": "Rome"}


def rule(decision: str, **said: str) -> str:
    lines = [f'decision = "{decision}"', *(f"{key} = {value}" for key, value in said.items())]
    return "[[rules]]\n" + "\n".join(lines) + "\n"


BERN_DENIED = TRUSTED + rule("deny", id='"no-bern"', tool='"search"', when='{ city = "Bern" }', reason='"closed"')


@run_async
async def test_at_122_one_profile_two_decisions() -> None:
    """AT-122: the profile is facts; each call is judged for itself."""
    profile = {"risk_level": "high", "access_kinds": ["file_read"]}
    policy = TRUSTED + rule("deny", tool='"*"', path='"/etc/**"')
    async with running_app(make_tool("read", PATH, permission_profile=profile), policy=policy) as on:
        denied, allowed = await on.call("read", {"path": "/etc/passwd"}), await on.call("read", {"path": "/srv/a"})
        assert denied.is_error
        assert not allowed.is_error


@run_async
async def test_at_123_a_required_approval_is_asked_for() -> None:
    """AT-123, AML-103: at least an ask, unless a rule of the policy names this very tool; then the decision names it."""
    needs = make_tool(approval_required=True, is_read_only=True)
    async with running_app(needs, policy=TRUSTED) as on:
        await on.park()
        assert not on.has_run
    async with running_app(needs, policy=TRUSTED + rule("allow", tool='"*"')) as on:
        await on.park()
    async with running_app(needs, policy=rule("allow", id='"waived"', tool='"search"')) as on:
        result = await on.call()
        [decision] = await on.read_decisions(result)
        assert decision["behavior"] == "allow"
        assert decision["rule_refs"][0] == "waived"
        assert decision["source"] == "policy_settings"


@run_async
async def test_at_123_a_profile_may_require_approval() -> None:
    """AT-123: `approval_required` of the permission profile counts, as a definition file states it."""
    async with running_app(make_tool(permission_profile={"approval_required": True}), policy=TRUSTED) as on:
        await on.park()


@pytest.mark.parametrize("case", ["plain allow", "allow by argument", "deny", "ask"])
@run_async
async def test_at_126_every_call_that_is_judged_has_a_decision(case: str) -> None:
    """AT-125, AT-126: with the five fields, linked from the invocation; a plain allow too."""
    policy = {
        "plain allow": TRUSTED,
        "allow by argument": rule("allow", tool='"search"', when='{ city = "Bern" }'),
        "deny": BERN_DENIED,
        "ask": "",
    }[case]
    async with running_app(policy=policy) as on:
        outcome = await on.surface.call("search", BERN)
        decisions = await on.read_decisions(outcome)
        assert [decision["behavior"] for decision in decisions] == [
            case.split()[-1] if case in ("deny", "ask") else "allow"
        ]
        for decision in decisions:
            assert_required("decision", decision)
            assert decision["reason"]["type"] in get_args(ReasonType)
            assert decision["reason"]["message"]
        record = await on.read_record(outcome)
        assert record["permission_decision_refs"] == [decision["decision_id"] for decision in decisions]


@run_async
async def test_at_126_a_read_only_call_has_a_decision_too() -> None:
    """AT-126, AT-255: also where nothing depends on its arguments; the decision names the policy."""
    async with running_app(make_tool(is_read_only=True), policy=rule("deny", tool='"other"')) as on:
        result = await on.call()
        [decision] = await on.read_decisions(result)
        assert decision["behavior"] == "allow"
        assert decision["policy_refs"]
        assert set(decision["policy_refs"]) <= set((await on.read_record(result))["policy_refs"])


@run_async
async def test_at_127_an_allow_may_come_with_feedback() -> None:
    """AT-127: what the approver says is on record."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        inbox = on.app.inbox(Identity("bob", "desk", frozenset({APPROVE})))
        answered = await inbox.approve(waiting.invocation_id, reason="only this once")
        assert isinstance(answered.result, Result)
        assert (await on.read_decisions(waiting))[-1]["accept_feedback"] == "only this once"


@run_async
async def test_at_128_an_ask_waits_and_nothing_runs() -> None:
    """AT-128, AT-96: the state is awaiting_approval; the executor is not reached."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        assert waiting.state == (await on.read_record(waiting))["status"] == "awaiting_approval"
        assert "started_at" not in await on.read_record(waiting)
        assert not on.has_run
        assert not (await on.answer()).is_error
        assert len(on.executor.ran) == 1


@run_async
async def test_at_129_a_deny_does_not_run() -> None:
    """AT-129"""
    async with running_app(policy=BERN_DENIED) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_class) == ("denied", "permission_denied")
        assert not on.has_run


@pytest.mark.parametrize("is_interactive", [True, False])
@run_async
async def test_at_130_if_nobody_decides_nothing_runs(is_interactive: bool) -> None:
    """AT-130: a passthrough that nobody picks up is an ask, and a no where nobody can be asked."""
    async with running_app(
        policy=rule("passthrough", tool='"search"'), caller={"is_interactive": is_interactive}
    ) as on:
        outcome = await on.surface.call("search", BERN)
        assert isinstance(outcome, Pending) is is_interactive
        assert (await on.read_decisions(outcome))[-1]["behavior"] == ("ask" if is_interactive else "deny")
        assert not on.has_run


@run_async
async def test_at_131_the_answer_is_a_second_decision() -> None:
    """AT-131: its own id; a person's no and a rule's no are different classes."""
    async with running_app(policy="") as on:
        await on.park()
        rejected = await on.answer("too dear", name="bob")
        asked, answered = await on.read_decisions(rejected)
        assert (asked["behavior"], answered["behavior"]) == ("ask", "deny")
        assert asked["decision_id"] != answered["decision_id"]
        assert answered["decided_by"] == "bob"
        assert rejected.error is not None
        assert (rejected.status, rejected.error.error_class) == ("rejected", "approval_rejected")
        assert (await on.read_record(rejected))["status"] == "denied"
        assert rejected.error.retry.approval_required_again
        assert not on.has_run
    async with running_app(policy=BERN_DENIED) as on:
        error = (await on.call()).error
        assert error is not None
        assert error.error_class == "permission_denied"


@run_async
async def test_at_131_a_yes_is_a_second_decision_too() -> None:
    """AT-131"""
    async with running_app(policy="") as on:
        await on.park()
        decisions = await on.read_decisions(await on.answer(name="bob"))
        assert [decision["behavior"] for decision in decisions] == ["ask", "allow"]
        assert decisions[1]["decided_by"] == "bob"
        assert len({decision["decision_id"] for decision in decisions}) == 2


@run_async
async def test_at_132_a_decision_by_rule_names_rule_and_source() -> None:
    """AT-132: type, rule reference and message; the source is where it was written."""
    async with running_app(policy=BERN_DENIED) as on:
        [decision] = await on.read_decisions(await on.call())
        assert decision["reason"]["type"] == "rule"
        assert decision["reason"]["rule_ref"] == "no-bern"
        assert "closed" in decision["reason"]["message"]
        assert decision["source"] == "policy_settings"


@pytest.mark.parametrize("source", ["session", "command", "cli_arg"])
@run_async
async def test_at_134_rules_keep_their_origin(source: str) -> None:
    """AT-134: of rules that come with a surface, each decision names the right one."""
    given = ({"id": "mine", "decision": "deny", "tool": "search", "source": source, "when": {"city": "Bern"}},)
    async with running_app(caller={"rules": given}) as on:
        [decision] = await on.read_decisions(await on.call())
        assert (decision["source"], decision["rule_refs"]) == (source, ["mine"])
        assert source in RULE_SOURCES


@pytest.mark.parametrize("written", ["allow", "ask", "deny"])
@pytest.mark.parametrize("handed", ["allow", "ask", "deny"])
@run_async
async def test_at_135_the_strictest_wins(written: str, handed: str) -> None:
    """AT-135: deny beats ask beats allow, wherever each comes from; the policy is never weakened."""
    order = ["allow", "ask", "deny"]
    given = ({"decision": handed, "tool": "search", "when": {"city": "Bern"}},)
    policy = rule(written, tool='"search"', when='{ city = "Bern" }')
    async with running_app(policy=policy, caller={"rules": given}) as on:
        outcome = await on.surface.call("search", BERN)
        assert (await on.read_decisions(outcome))[0]["behavior"] == max(written, handed, key=order.index)


@run_async
async def test_at_136_a_suggestion_changes_nothing_until_it_is_accepted() -> None:
    """AT-136: the next call asks again; once the owner accepted, it is allowed, and the source says by what."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        assert (await on.read_decisions(waiting))[0]["suggested_updates"]
        await on.park()
        owner = on.app.inbox(Identity("olga", "desk", frozenset({APPROVE, ADMIN})))
        answered = await owner.approve(waiting.invocation_id, accept_rules=[0])
        assert answered.accepted
        assert not answered.problems
        result = await on.call()
        [decision] = await on.read_decisions(result)
        assert (decision["behavior"], decision["source"]) == ("allow", "local_settings")


class Judge:
    """A classifier that always says the same."""

    def __init__(self, behavior: str, name: str = "judge") -> None:
        self.name = name
        self._behavior = behavior

    def classify(self, entry: Any, subject: Any) -> Classification:
        return Classification(self._behavior, 0.9, f"it is {self._behavior}")


def with_judge(authority: str) -> str:
    return f'[[classifiers]]\nname = "judge"\nauthority = "{authority}"\n'


@run_async
async def test_at_137_a_classifier_is_a_visible_input() -> None:
    """AT-137: reference, confidence, reason and authority are in the decision."""
    async with running_app(policy=with_judge("decide"), classifiers=[Judge("allow")]) as on:
        [decision] = await on.read_decisions(await on.call())
        assert (decision["behavior"], decision["reason"]["type"]) == ("allow", "classifier")
        assert list(decision["classifiers"]) == [
            {
                "classifier_ref": "judge",
                "behavior": "allow",
                "confidence": 0.9,
                "reason": "it is allow",
                "authority": "decide",
            }
        ]


@pytest.mark.parametrize("says", ["allow", "deny"])
@run_async
async def test_at_138_a_recommendation_decides_nothing(says: str) -> None:
    """AT-138: an ask stays an ask, whatever a recommend-only classifier thinks; its word is on record."""
    async with running_app(policy=with_judge("recommend"), classifiers=[Judge(says)]) as on:
        [decision] = await on.read_decisions(await on.park())
        assert decision["behavior"] == "ask"
        assert decision["classifiers"][0]["behavior"] == says
        assert not on.has_run


@run_async
async def test_at_139_an_edit_in_the_prompt_is_what_runs() -> None:
    """AT-139, AT-79: it becomes the call input, is marked as a person's, and leaves a mutation record."""
    async with running_app(policy="") as on:
        await on.park()
        result = await on.answer(ROME, name="bob")
        assert [ran.arguments for ran in on.executor.ran] == [ROME]
        record = await on.read_record(result)
        assert (record["model_input"], record["call_input"]) == (BERN, ROME)
        assert (await on.read_decisions(result))[-1]["user_modified"] is True
        [mutation] = (await on.read_story(result)).mutations
        assert mutation.source_type == "permission_prompt"
        assert "bob" in mutation.source_ref
        assert mutation.changed_fields == ("city",)


@run_async
async def test_at_140_a_path_that_was_denied_is_named() -> None:
    """AT-140"""
    profile = {"risk_level": "low", "access_kinds": ["file_read"]}
    policy = TRUSTED + rule("deny", tool='"*"', path='"/etc/**"')
    async with running_app(make_tool("read", PATH, permission_profile=profile), policy=policy) as on:
        [decision] = await on.read_decisions(await on.call("read", {"path": "/srv/../etc/passwd"}))
        assert decision["blocked_path"] == "/etc/passwd"


@run_async
async def test_at_141_an_expired_yes_starts_nothing() -> None:
    """AT-141: approved, then the clock goes on: the call does not start, and somebody is asked again or it lapses."""
    clock = FakeClock()
    async with running_app(policy=rule("ask", tool='"search"', expires='"1h"'), clock=clock) as on:
        waiting = await on.park()
        inbox = on.app.inbox(Identity("bob", "desk", frozenset({APPROVE})))
        await inbox.approve(waiting.invocation_id, resume=False)
        clock.advance(2 * 3600)
        await on.app.calls.resume(waiting.invocation_id)
        assert not on.has_run
        assert (await on.read_record(waiting))["status"] in ("awaiting_approval", "timed_out")


@run_async
async def test_at_141_a_question_lapses() -> None:
    """AT-141: nobody answered: class timeout, result and state timed_out, and nothing ran."""
    clock = FakeClock()
    async with running_app(policy=rule("ask", tool='"search"', expires='"1h"'), clock=clock) as on:
        waiting = await on.park()
        clock.advance(3601)
        await on.app.calls.sweep()
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result)
        assert result.error is not None
        assert (result.error.error_class, result.status) == ("timeout", "timed_out")
        assert (await on.read_record(result))["status"] == "timed_out"
        assert not on.has_run


@run_async
async def test_at_142_where_nobody_can_be_asked_an_ask_is_a_no() -> None:
    """AT-142: it does not hang and does not run; class permission_denied, with an explanation."""
    async with running_app(policy="", caller={"is_interactive": False}) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_class) == ("denied", "permission_denied")
        assert (await on.read_record(result))["status"] == "denied"
        assert "ask" in result.error.message
        assert not on.has_run


async def chain(on: RunningApp, of: Result | Pending) -> str:
    return repr(Story(await on.app.store.rows_of(of.invocation_id)).to_record())


@run_async
async def test_at_143_records_tell_why() -> None:
    """AT-143: rule, policy, classifier and human of a call, from what is stored."""
    policy = rule("ask", id='"money"', tool='"search"') + with_judge("recommend")
    async with running_app(policy=policy, classifiers=[Judge("allow")]) as on:
        await on.park()
        told = await chain(on, await on.answer(name="bob"))
        for word in ("money", "policy.toml@", "judge", "it is allow", "bob"):
            assert word in told


@run_async
async def test_whoever_called_cannot_approve() -> None:
    """AT-128: the channel that made a call is no authority for it."""
    async with running_app(policy="", caller={"channel": "test:approver"}) as on:
        await on.park()
        with pytest.raises(Exception, match="channel"):
            await ScriptedApprover(on.app).work()
        assert not on.has_run
