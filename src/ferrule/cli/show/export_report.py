"""What an export gave, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ferrule.app.export import Exported, TokenCount
from ferrule.cli.show.conversion_report import LossEntry, entry_of
from ferrule.definitions.reporters.excerpt import cleaned
from ferrule.definitions.token_counts import ESTIMATE


class LeftOut(msgspec.Struct, frozen=True):
    """A tool that the target cannot be told of."""

    tool_id: str
    why: str
    """The reason."""
    hint: str | None
    """What to do about it."""


class ExportReport(msgspec.Struct, frozen=True):
    """What `ferrule export --report json` prints."""

    to: str
    """The provider or framework."""
    tools: int
    """How many tools were written, those that are deferred included."""
    tokens: TokenCount
    """`counted_by` (`estimate`, or a tokenizer), `total`, `instructions`, and of each tool by name: `tools`, `deferred`."""
    names: dict[str, str]
    """Names that had to be changed: the written one to the one that `ferrule call` takes."""
    left_out: tuple[LeftOut, ...]
    """Tools that cannot be said at all."""
    losses: tuple[LossEntry, ...]
    """What the target cannot say of the others, as `ferrule convert` reports it."""


def report_of(exported: Exported, to: str) -> ExportReport:
    """The report of an export."""
    tokens = exported.tokens
    left_out = tuple(LeftOut(str(one.path[0]) if one.path else "", one.message, one.hint) for one in exported.left_out)
    count = len(exported.offered) or len(tokens.tools) + len(tokens.deferred)
    return ExportReport(to, count, tokens, dict(exported.names), left_out, tuple(map(entry_of, exported.losses)))


def report_lines(report: ExportReport, *, is_counted: bool) -> Iterator[str]:
    """The report for people; with every tool's count where somebody asked for it."""
    tokens = report.tokens
    if is_counted:
        every = {**tokens.tools, **{f"{name} (deferred)": count for name, count in tokens.deferred.items()}}
        if tokens.instructions:
            every["(instructions)"] = tokens.instructions
        width = max((len(name) for name in every), default=0)
        for name, count in sorted(every.items(), key=lambda one: -one[1]):
            yield f"{cleaned(name):<{width}} {count:>8,}"
    for written, own in report.names.items():
        yield f"{cleaned(own)} is called {cleaned(written)} there"
    for one in report.left_out:
        yield f"left out: {cleaned(one.why)}" + (f"; {cleaned(one.hint)}" if one.hint else "")
    yield _summary(report)


def _summary(report: ExportReport) -> str:
    tokens = report.tokens
    how = "about " if tokens.counted_by == ESTIMATE else ""
    by = "estimated" if tokens.counted_by == ESTIMATE else f"counted by {tokens.counted_by}"
    tools = f"{report.tools} tool{'' if report.tools == 1 else 's'} for {report.to}"
    deferred = f", {len(tokens.deferred)} of them deferred" if tokens.deferred else ""
    left = f"; {len(report.left_out)} left out" if report.left_out else ""
    final = sum(loss.is_final for loss in report.losses)
    unsaid = f"; {final} things of them are not said there (--report json tells which)" if final else ""
    return f"{tools}{deferred}: {how}{tokens.total:,} tokens ({by}){left}{unsaid}"
