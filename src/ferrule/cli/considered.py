"""Which rules of the policy apply to a recorded call, and why the others do not. Asks the policy as it is written now.

Runs none of the workspace's code and writes nothing: the tool comes from the sealed catalog, the input from the ledger.
"""

from __future__ import annotations

import os

from ferrule.contracts.policy import Judged
from ferrule.errors import FerruleError
from ferrule.history.story import Considered, RuleNote, Story
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.policy.engine import RuleEngine, engine_of
from ferrule.policy.explain import explain_rules
from ferrule.policy.facts import call_facts
from ferrule.policy.load import load_policy
from ferrule.policy.shell_classifier import BUILTIN
from ferrule.releases import CATALOG_FILE, load_catalog
from ferrule.surface.catalogs import SealedCatalog
from ferrule.workspace import Workspace

_CHANGED = "the policy has changed since the call; these are its rules as they are now"
_MASKED = "sensitive members of the input are masked in the ledger, so rules about them may be told otherwise"


def considered(story: Story, workspace: Workspace) -> Considered:
    """Every rule, with whether it fits the call. Without a decision no rule was asked, so none is told."""
    if not story.decisions:
        return Considered()
    try:
        entry = _entry(story, workspace)
        engine = _engine(workspace)
    except FerruleError as error:
        return Considered(remark=f"they cannot be told: {error}")
    if entry is None:
        return Considered(remark="they cannot be told: the tool is not in the sealed catalog as it is now")
    if not isinstance(story.final_input, dict):
        return Considered(remark="they cannot be told: the input was erased")
    return Considered(_notes(story, engine, entry), _remark(story, engine))


def _entry(story: Story, workspace: Workspace) -> SurfaceEntry | None:
    if not (workspace.root / CATALOG_FILE).exists():
        return None
    versions = SealedCatalog(load_catalog(workspace)).versions(story.header.tool_id)
    wanted = [listed for listed in versions if listed.tool.version == story.header.tool_version]
    return SurfaceEntry(wanted[0].tool, wanted[0].digest, "loaded") if wanted else None


def _engine(workspace: Workspace) -> RuleEngine:
    settings = workspace.settings
    policy = load_policy(
        workspace.root, settings.policy, os.environ, expires_seconds=settings.approval.expires_seconds
    )  # fmt: skip
    return engine_of(policy)


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
