"""Reads comments that suppress a rule: `# ferrule: ignore[AML-13] the catalogue text is one sentence on purpose`.

A comment at the end of a line covers that line, one on a line of its own the next line that is no comment, and
`ignore-file[…]` the complete file. Several codes are separated by commas. Each needs a reason, and must be of use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ferrule.contracts.registry import late
from ferrule.model.diagnostic import Diagnostic, Severity, Suppression
from ferrule.model.document import Syntax

comments_of: Callable[[str, Syntax], Any] = late("ferrule.definitions.compiler.comments:Comments")  # brings PyYAML

MARKER = b"ferrule:"
_COMMENT = re.compile(
    r"(?:(?<=\s)|^)(#|<!--)\s*ferrule:\s*(ignore(?:-file)?)\s*\[([^\]\n]*)\]\s*:?\s*(.*?)\s*(?:-->)?\s*$"
)
UNUSED, UNEXPLAINED = "FER-3", "FER-4"
ELSEWHERE = frozenset({"AML-81", "AML-82", "AML-83", "AML-84", "AML-99", "OXP-50"})
"""Rules that only a comparison runs, so a check cannot tell whether suppressing them is of use."""


def find_suppressions(text: str, syntax: Syntax = "yaml") -> tuple[Suppression, ...]:
    """Finds every suppression comment of a text. JSON has no comments."""
    found: list[Suppression] = []
    lines = text.split("\n") if syntax != "json" else []
    comments: Any = None  # worked out only when a line looks like one
    offset = -1
    for number, line in enumerate(lines, start=1):
        start, offset = offset + 1, offset + 1 + len(line)
        match = _COMMENT.search(line.rstrip("\r")) if "ferrule:" in line else None
        if match is None:
            continue
        comments = comments or comments_of(text, syntax)
        mark, verb, codes, reason = match.groups()
        if not comments.has_comment(mark, start + match.start()):
            continue
        rules = tuple(code.strip().upper() for code in codes.split(",") if code.strip())
        covers = () if verb == "ignore-file" else (_find_covered_line(lines, number, match.start()),)
        found.append(Suppression(rules, number, match.start() + 1, covers, reason))
    return tuple(found)


def _find_covered_line(lines: list[str], number: int, start: int) -> int:
    if lines[number - 1][:start].strip():
        return number
    following = number
    # Several comments above one line all cover that line.
    while following < len(lines) and lines[following].lstrip().startswith(("#", "<!--")):
        following += 1
    return following + 1


def apply(
    file: str,
    diagnostics: list[Diagnostic],
    comments: tuple[Suppression, ...],
    *,
    is_active: Callable[[str], bool] = lambda rule: True,
) -> list[Diagnostic]:
    """Returns the diagnostics that no comment silences, and what is wrong with the comments themselves.

    `is_active` says whether findings of a rule are shown at all; comments about others are not called unused.
    """
    if not comments:
        return diagnostics
    used: set[tuple[int, str]] = set()
    kept = [diagnostic for diagnostic in diagnostics if not _mark_silenced(diagnostic, comments, used)]
    for comment in comments:
        kept.extend(_find_complaints(file, comment, used, is_active))
    return kept


def drop_silenced(text: str, syntax: Syntax, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Returns the diagnostics that no comment of the text silences; does not judge the comments themselves."""
    comments = find_suppressions(text, syntax)
    return [diagnostic for diagnostic in diagnostics if not _mark_silenced(diagnostic, comments, set())]


def _mark_silenced(diagnostic: Diagnostic, comments: tuple[Suppression, ...], used: set[tuple[int, str]]) -> bool:
    """True when a comment silences the diagnostic; adds every such comment to `used`."""
    hit = False
    for comment in comments:
        if diagnostic.rule in comment.rules and (not comment.covers or diagnostic.line in comment.covers):
            used.add((comment.line, diagnostic.rule))
            hit = True
    return hit


def _find_complaints(
    file: str, comment: Suppression, used: set[tuple[int, str]], is_active: Callable[[str], bool]
) -> list[Diagnostic]:
    def complain(rule: str, message: str, hint: str) -> Diagnostic:
        end = comment.column + 1
        return Diagnostic(
            rule, Severity.WARNING, "", file, comment.line, comment.column, comment.line, end, message, hint
        )

    complaints = []
    if not comment.reason:
        named = f" of {', '.join(comment.rules)}" if comment.rules else ""
        message = f"the suppression{named} gives no reason"
        complaints.append(complain(UNEXPLAINED, message, "say why after the brackets"))
    if not comment.rules:
        complaints.append(complain(UNUSED, "the suppression names no rule", "write the rule's code in the brackets"))
    for rule in comment.rules:
        if (comment.line, rule) not in used and rule not in ELSEWHERE and is_active(rule):
            message = f"nothing here breaks {rule}, so its suppression has no use"
            hint = "remove the comment" if len(comment.rules) == 1 else f"remove {rule} from the comment"
            complaints.append(complain(UNUSED, message, hint))
    return complaints
