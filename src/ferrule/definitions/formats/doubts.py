"""What a file carries under our key and nothing else in it bears out: told, so that somebody looks before it counts."""

from __future__ import annotations

from ferrule.definitions.carried import loosened
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.tool import Tool
from ferrule.model.value import Path

CLAIMED = "claimed-harmless"


def doubts(tool: Tool, after: Tool, path: Path, key: str) -> list[Finding]:
    """`tool`: what the file says in its format's own words; `after`: with what it carries under `key`."""
    claims = loosened(tool, after)
    if not claims:
        return []
    message = f"{after.name!r} is more harmless than its file says by itself: `{key}` claims {', '.join(claims)}"
    return [Finding(CLAIMED, path, message, Severity.WARNING, "believe it only if you trust whoever wrote the file")]
