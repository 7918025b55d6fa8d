"""The page of error classes: what each means, where it comes from, what it does to the call, and what to do next."""

from __future__ import annotations

from ferrule.model.error_codes import CODES, EXPLANATIONS, TOOL_CODES
from ferrule.model.failure import ERROR_CLASSES, MEANINGS, ErrorClass, RetryAdvice, Stop, ToolError, tool_error
from ferrule.servers.api.field_docs import fields_of
from scripts.reference.cells import cell

_INTRODUCTION = """\
# Error classes

The 22 classes of the Agent Tool standard. A call that does not give what was asked for has exactly one, in
`result.error.error_class`; `error_code` is finer where there is something finer to say. Programs decide by these
and by `error.retry`, never by the message. [Calling tools](../guide/calling-tools.md) shows how.
"""


def page() -> str:
    """Every class, its retry guidance and its codes."""
    lines = [_INTRODUCTION, "## The error of a result", "", "| field | |", "|---|---|"]
    lines += [f"| `{field.name}` | {cell(field.text)} |" for field in fields_of(ToolError)]
    lines += ["", "`retry` holds:", "", "| field | |", "|---|---|"]
    lines += [f"| `{field.name}` | {cell(field.text)} |" for field in fields_of(RetryAdvice)]
    lines += [
        "",
        "## Classes",
        "",
        "| class | what happened | phases | result | last state, not run | run | what helps |",
    ]
    lines += ["|---|---|---|---|---|---|---|", *map(_class_row, ERROR_CLASSES)]
    lines += ["", "## Before another attempt", "", _GUIDANCE, "", *_retries(), ""]
    lines += [
        "## Codes",
        "",
        "Where a call has no finer code, its code is the class. Tools may add codes of their own.",
        "",
    ]
    lines += ["| class | code | meaning |", "|---|---|---|"]
    lines += [f"| `{kind}` | `{code}` | {text} |" for kind, codes in CODES.items() for code, text in codes.items()]
    lines += [
        "",
        "Of the built-in tools, declared programs and streamed output:",
        "",
        "| class | code | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{kind}` | `{code}` | {text} |" for kind, codes in TOOL_CODES.items() for code, text in codes.items()]
    return "\n".join([*lines, ""])


def _class_row(kind: ErrorClass) -> str:
    meaning, explanation = MEANINGS[kind], EXPLANATIONS[kind]
    phases = ", ".join(f"`{phase}`" for phase in explanation.phases)
    states = f"`{meaning.early}` | `{meaning.late}`"
    return f"| `{kind}` | {explanation.text} | {phases} | `{meaning.status}` | {states} | `{meaning.recoverability}` |"


_GUIDANCE = """\
A call that had begun to run, and that neither only reads nor is declared idempotent, may have acted: then it is not safe to
repeat, and what helps is never `retry`. A denial that comes after the tool ran is a `failed` result."""


def _retries() -> list[str]:
    rows = [
        "| class | safe before it ran | safe after, when it may have acted | arguments must change | discover first |"
    ]
    rows.append("|---|---|---|---|---|")
    for kind in ERROR_CLASSES:
        early = tool_error(Stop(kind, ""), has_run=False, is_repeatable=False).retry
        late = tool_error(Stop(kind, ""), has_run=True, is_repeatable=False).retry
        cells = (early.retry_safe, late.retry_safe, early.arguments_must_change, early.discovery_required)
        rows.append(f"| `{kind}` | " + " | ".join("yes" if each else "no" for each in cells) + " |")
    return rows
