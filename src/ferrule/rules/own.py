"""Ferrule's own rules, about files and suppressions rather than any standard."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo
from ferrule.model.diagnostic import Severity

PAGES = (
    RuleInfo(
        "FER-1",
        "unreadable-file",
        Severity.ERROR,
        "A file that was asked for by name cannot be read as text, and its name does not tell its dialect.",
    ),
    RuleInfo(
        "FER-2",
        "unrecognised-definition",
        Severity.INFO,
        "A file that was asked for by name holds none of the dialects Ferrule knows.",
        "Files found by walking a folder are skipped silently when they hold no definition.",
    ),
    RuleInfo(
        "FER-3",
        "unused-suppression",
        Severity.WARNING,
        "A suppression, in a comment or in ferrule.toml, silences nothing.",
        "Why: it would hide the next mistake on that line.\nGood: remove it.",
    ),
    RuleInfo(
        "FER-4",
        "unexplained-suppression",
        Severity.WARNING,
        "A suppression gives no reason.",
        "Bad:  `# ferrule: ignore[AML-13]`\nGood: `# ferrule: ignore[AML-13] one sentence says it all`",
    ),
    RuleInfo(
        "FER-5",
        "failed-rule",
        Severity.ERROR,
        "A rule failed on this definition because of a bug in Ferrule. The other rules were still checked.",
    ),
    RuleInfo(
        "FER-6",
        "unfollowed-folder",
        Severity.WARNING,
        "A folder could not be read, or a link leads in a circle, so what lies behind it was not checked.",
    ),
)
