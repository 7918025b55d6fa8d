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
    RuleInfo(
        "FER-7",
        "unusable-policy",
        Severity.ERROR,
        "A policy file can be read, and is TOML (or Cedar) with a table at the top.",
        "Why: while a policy cannot be used, every call is refused.",
    ),
    RuleInfo(
        "FER-8",
        "unknown-policy-key",
        Severity.ERROR,
        "A policy file has only keys that mean something.",
        "Why: a misspelt matcher would make a rule wider than its author thinks.\n"
        'Bad:  `pincipal = "eve"`\nGood: `principal = "eve"`',
    ),
    RuleInfo(
        "FER-9",
        "malformed-policy-value",
        Severity.ERROR,
        "Every value of a policy file is one that can be obeyed: decisions, modes, globs, durations, regular expressions.",
        'Bad:  `expires = "four hours"`\nGood: `expires = "4h"`',
    ),
    RuleInfo(
        "FER-10",
        "duplicate-rule-id",
        Severity.ERROR,
        "The rules of one policy file have different ids.",
        "Why: decisions name the rule they follow from.",
    ),
    RuleInfo(
        "FER-11",
        "unreachable-policy-rule",
        Severity.WARNING,
        "A policy rule is about tools, namespaces and agents that exist.",
        "Why: a deny for a tool that was renamed protects nobody.\n"
        "An allow goes by a tool's own name; an alias is a name for denials only.",
    ),
    RuleInfo(
        "FER-12",
        "overruled-allow",
        Severity.WARNING,
        "An allow rule is not covered by a rule that asks or denies.",
        "Why: deny beats ask beats allow, in whatever order and file they stand, so this allow never counts.",
    ),
    RuleInfo(
        "FER-13",
        "unknown-policy-group",
        Severity.ERROR,
        "A rule names groups that are defined.",
        "Why: a deny for the members of a group nobody defines would never hold. For `approvers` it is a warning: a login may\n"
        "carry the group. Groups that policy.toml speaks of are defined in policy.toml alone.",
    ),
    RuleInfo(
        "FER-14",
        "unanswerable-request",
        Severity.WARNING,
        "A rule that asks can be answered by as many people as it wants.",
        'Bad:  `approvers = ["ada"]`, `people = 2`',
    ),
)
