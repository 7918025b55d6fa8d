"""The frameworks that adapters make tools for. None is an extra of Ferrule: whoever uses an adapter has its framework already."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.errors import ExtraMissing

FRAMEWORKS: Mapping[str, str] = {
    "langchain": "langchain-core>=1.0",
    "openai_agents": "openai-agents>=0.20",
    "pydantic_ai": "pydantic-ai-slim>=2.0",
}
"""The requirement of each adapter, by its module; as in the group `test` of pyproject.toml, whose versions are tested."""


def framework_missing(adapter: str) -> ExtraMissing:
    """Returns the error of an adapter whose framework cannot be imported."""
    requirement = FRAMEWORKS[adapter]
    package = requirement.partition(">=")[0]
    return ExtraMissing(f"ferrule.adapters.{adapter} needs the package {package!r}; run: pip install '{requirement}'")
