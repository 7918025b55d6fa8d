"""Reviews a recorded call by the present policy: its rules, which of them match, and the verdict now.

The call is judged like a new one. Runs nothing and writes nothing.
"""

from __future__ import annotations

from typing import Any

from ferrule.app.preview.preview import preview_call
from ferrule.app.preview.trial import PolicyTrial, TrialCall
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.errors import FerruleError
from ferrule.model.story import RuleNote, RuleReview, Story
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.runtime.policy.engine import RuleEngine

_CHANGED = "the policy has changed since the call; these are its rules as they are now"
_GONE = "its agent does not have the tool any more, so what would become of the call now cannot be told"
_MASKED = "sensitive members of the input are masked in the ledger, so rules about them may be told otherwise"


async def review_rules(story: Story, catalog: CatalogView, engine: PolicyEngine) -> RuleReview:
    """Returns the rules of a policy, which of them match the call, and the verdict. Empty for a call without a decision: no
    rule was asked."""
    if not story.decisions:
        return RuleReview()
    if not isinstance(engine, RuleEngine):
        return RuleReview(remark="they cannot be told: the policy in force cannot be used")
    versions = catalog.versions(story.header.tool_id)
    listed = next((one for one in versions if one.tool.version == story.header.tool_version), None)
    if listed is None:
        return RuleReview(remark="they cannot be told: the tool is not in the catalog as it is now")
    if not isinstance(story.final_input, dict):
        return RuleReview(remark="they cannot be told: the input was erased")
    trial = PolicyTrial(catalog, engine)
    tried, remark = await _try_call(trial, story, listed)
    notes = tuple(
        RuleNote(each.rule.rule_id, each.rule.decision, each.rule.source, each.is_matched, each.why)
        for each in trial.explain(tried)
    )
    verdict = "" if remark else tried.preview.verdict
    return RuleReview(notes, "; ".join(filter(None, (_describe_changes(story, engine), remark))), verdict)


async def _try_call(trial: PolicyTrial, story: Story, listed: CatalogEntry) -> tuple[TrialCall, str]:
    """Tries the call as its caller would make it now; if that agent is gone, as any caller would, with a remark."""
    header, arguments, at = story.header, story.final_input, story.created_at
    caller: dict[str, Any] = {
        "principal": header.principal,
        "channel": header.channel,
        "agent": header.agent,
        "tenant": header.tenant,
        "run_id": header.run_id,
        # The version that was called may not be the preferred one any more.
        "pins": {header.tool_id: header.tool_version} if header.tool_version else {},
    }
    try:
        return await trial.try_call(header.tool_id, arguments, caller, at), ""
    except FerruleError:  # its message names other agents, which callers may not know of
        entry, request = SurfaceEntry(listed.tool, listed.digest, "loaded"), SurfaceRequest(**caller)
        found = await preview_call(entry, request, trial.engine, arguments, now=at)
        return TrialCall(entry, request, found), _GONE


def _describe_changes(story: Story, engine: RuleEngine) -> str:
    changed = engine.digest != story.header.policy_digest
    masked = "[REDACTED]" in str(story.final_input)
    return "; ".join(remark for remark, holds in ((_CHANGED, changed), (_MASKED, masked)) if holds)
