"""Which rules of the policy apply to a recorded call, for commands: asks the policy as it is written now, without an app.

The tool comes from the sealed catalog, the input from the ledger; none of the workspace's code is run.
"""

from __future__ import annotations

import os

from ferrule.app.preview import considered as rules
from ferrule.contracts.catalog import Listed
from ferrule.errors import FerruleError
from ferrule.ledger.history.story import Considered, Story
from ferrule.runtime.policy.engine import RuleEngine, engine_of
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.surface.catalogs import SealedCatalog
from ferrule.workspace.catalog_file import CATALOG_FILE, load_catalog
from ferrule.workspace.workspace import Workspace


def considered(story: Story, workspace: Workspace) -> Considered:
    """Every rule, with whether it fits the call. Without a decision no rule was asked, so none is told."""
    if not story.decisions:
        return Considered()
    try:
        listed = _listed(story, workspace)
        engine = _engine(workspace)
    except FerruleError as error:
        return Considered(remark=f"they cannot be told: {error}")
    if listed is None:
        return Considered(remark="they cannot be told: the tool is not in the sealed catalog as it is now")
    return rules.considered(story, listed, engine)


def _listed(story: Story, workspace: Workspace) -> Listed | None:
    if not (workspace.root / CATALOG_FILE).exists():
        return None
    versions = SealedCatalog(load_catalog(workspace)).versions(story.header.tool_id)
    return next((listed for listed in versions if listed.tool.version == story.header.tool_version), None)


def _engine(workspace: Workspace) -> RuleEngine:
    settings = workspace.settings
    policy = load_policy(
        workspace.root, settings.policy, os.environ, expires_seconds=settings.approval.expires_seconds
    )  # fmt: skip
    return engine_of(policy)
