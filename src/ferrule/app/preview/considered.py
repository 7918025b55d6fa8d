"""Which rules of a policy apply to a recorded call, and why the others do not. Runs nothing and writes nothing."""

from __future__ import annotations

from ferrule.contracts.policy import Judged, PolicyEngine
from ferrule.contracts.surface import Listed
from ferrule.model.story import Considered, RuleNote, Story
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import RuleEngine, explain_rules
from ferrule.runtime.policy.facts import call_facts

_CHANGED = "the policy has changed since the call; these are its rules as they are now"
_MASKED = "sensitive members of the input are masked in the ledger, so rules about them may be told otherwise"


def considered(story: Story, listed: Listed | None, engine: PolicyEngine) -> Considered:
    """Every rule of a policy, with whether it fits the call. Without a decision no rule was asked, so none is told.

    `listed`: the version of the tool that was called, where the catalog still has it.
    """
    if not story.decisions:
        return Considered()
    if not isinstance(engine, RuleEngine):
        return Considered(remark="they cannot be told: the policy in force cannot be used")
    if listed is None:
        return Considered(remark="they cannot be told: the tool is not in the catalog as it is now")
    if not isinstance(story.final_input, dict):
        return Considered(remark="they cannot be told: the input was erased")
    entry = SurfaceEntry(listed.tool, listed.digest, "loaded")
    return Considered(_notes(story, engine, entry), _remark(story, engine))


def _notes(story: Story, engine: RuleEngine, entry: SurfaceEntry) -> tuple[RuleNote, ...]:
    header, arguments = story.header, story.final_input
    request = SurfaceRequest(
        principal=header.principal,
        channel=header.channel,
        agent=header.agent,
        tenant=header.tenant,
        run_id=header.run_id,
    )
    facts, _ = call_facts(entry.tool, arguments, BUILTIN)
    found = explain_rules(engine, entry, request, Judged(arguments, facts, story.created_at))
    return tuple(
        RuleNote(each.rule.rule_id, each.rule.decision, each.rule.source, each.is_matched, each.why) for each in found
    )


def _remark(story: Story, engine: RuleEngine) -> str:
    changed = engine.digest != story.header.policy_digest
    masked = "[REDACTED]" in str(story.final_input)
    return "; ".join(remark for remark, holds in ((_CHANGED, changed), (_MASKED, masked)) if holds)
