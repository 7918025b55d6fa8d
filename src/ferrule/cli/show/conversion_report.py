"""The report of a conversion: the losses, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.diagnostic import Diagnostic
from ferrule.model.loss import EXTENSION, META_EXTENSION, Instead, Loss

_WORDS: dict[Instead, str] = {
    "extension": "carried under {key}",
    "rewritten": "said in another way",
    "description": "put into descriptions",
    "default": "made up",
    "dropped": "dropped",
}
"""What became of things, mildest first, for the closing line."""

_MOST = 30
"""Fields that one line for people names."""


class LossEntry(msgspec.Struct, frozen=True):
    """One thing that the target format cannot express as the source did."""

    tool_id: str
    """The tool it is about."""
    field: str
    """A field of the canonical tool (`title`, `facts.is_destructive`), a place in one of its schemas
    (`input_schema/properties/when/format`), or a key of the source's own (`aml.transport`)."""
    file: str
    """Where it was said."""
    line: int | None
    """1-based; null where nobody knows."""
    why: str
    """Why the target cannot say it."""
    instead: str
    """What became of it: `dropped`; `default`, something made up because the target demands it; `description`, words in the
    description; `extension`, a key that other readers pass over; `rewritten`, another way to say the same."""
    put: str
    """What was put instead: the extension key, the words, the new name, the other spelling; may be empty."""
    rule: str
    """The rule behind it, such as `AML-26`; may be empty."""
    is_final: bool
    """True when reading the result again does not give it back; what `--fail-on-loss` looks at."""


class ConversionSummary(msgspec.Struct, frozen=True):
    """The closing line of a conversion, in numbers."""

    tools: int
    """Tools that were written."""
    left_out: int
    """Tools that were read and cannot be said in the target at all."""
    errors: int
    """Diagnostics of that severity, of the files that were read."""
    losses: int
    """Entries of `losses`."""
    final: int
    """Those that cannot be read back."""


class ConversionReport(msgspec.Struct, frozen=True):
    """The output of `--report json`."""

    to: str
    """The target."""
    files: tuple[str, ...]
    """The files that were written; one name for standard output, too."""
    losses: tuple[LossEntry, ...]
    """Everything that the target cannot say as the source did, tool by tool."""
    left_out: tuple[Diagnostic, ...]
    """Tools that cannot be said at all, each with the reason."""
    demands: tuple[Diagnostic, ...]
    """What the target wants to know and nobody said: made up, or still to be written by somebody; and names that it refuses."""
    names: dict[str, str]
    """Names that had to be changed: the written one to the tool's own."""
    diagnostics: tuple[Diagnostic, ...]
    """What is wrong with the files that were read, as `ferrule check` tells it."""
    summary: ConversionSummary


def entry_of(loss: Loss) -> LossEntry:
    """Makes the printed record of a loss."""
    return LossEntry(
        tool_id=loss.tool_id,
        field=loss.field,
        file=loss.file,
        line=loss.line or None,
        why=loss.why,
        instead=loss.instead,
        put=loss.put,
        rule=loss.rule,
        is_final=loss.is_final,
    )


def report_lines(report: ConversionReport) -> Iterator[str]:
    """Yields the report for people: the losses of each tool and their handling, then the sum."""
    by_tool: dict[tuple[str, str], list[LossEntry]] = {}
    for loss in report.losses:
        by_tool.setdefault((loss.tool_id, loss.file), []).append(loss)
    for (tool_id, file), losses in by_tool.items():
        yield f"{sanitize(tool_id)} ({sanitize(file)})" if file else sanitize(tool_id)
        yield from _tool_lines(losses)
    for written, own in report.names.items():
        yield f"{sanitize(own)} is called {sanitize(written)} there"
    yield summary_line(report)


def _tool_lines(losses: Sequence[LossEntry]) -> Iterator[str]:
    """Yields one line for all losses of the same handling and reason, each with its line in the file."""
    alike: dict[tuple[str, str], list[LossEntry]] = {}
    for loss in losses:
        alike.setdefault((loss.instead, "" if loss.instead == "extension" else loss.why), []).append(loss)
    for (instead, why), group in alike.items():
        fate = f"carried under {_key(group)}" if instead == "extension" else _FATES[instead]
        told = ", ".join(_field(loss) for loss in group[:_MOST])
        if len(group) > _MOST:
            told += f" and {len(group) - _MOST:,} more, which --report json lists"
        yield f"  {fate}: {told}" + (f" ({sanitize(why)})" if why else "")


_FATES = {"dropped": "dropped", "default": "made up", "description": "put into the description",
          "rewritten": "said in another way"}  # fmt: skip


def _field(loss: LossEntry) -> str:
    place = f":{loss.line}" if loss.line else ""
    put = f" as {_short(loss.put)}" if loss.put and loss.instead in ("default", "rewritten") else ""
    return f"{sanitize(loss.field)}{place}{put}"


def _short(text: str) -> str:
    line = sanitize(" ".join(text.split()))
    return line if len(line) <= 60 else line[:59] + "…"


def summary_line(report: ConversionReport) -> str:
    """`3 tools to openai: 12 things carried under x-ferrule, 4 dropped`."""
    summary = report.summary
    counts = Counter(loss.instead for loss in report.losses)
    told = [
        f"{counts[fate]} {{}}{words.format(key=_key(report.losses))}" for fate, words in _WORDS.items() if counts[fate]
    ]
    first = next((counts[fate] for fate in _WORDS if counts[fate]), 0)
    words = [
        part.format(("thing " if first == 1 else "things ") if number == 0 else "") for number, part in enumerate(told)
    ]
    tools = f"{summary.tools} tool{'' if summary.tools == 1 else 's'} to {report.to}"
    left = f"; {summary.left_out} left out" if summary.left_out else ""
    nothing = "nothing lost" if summary.tools else "nothing converted"
    return f"{tools}: {', '.join(words) or nothing}{left}"


def _key(losses: Iterable[LossEntry]) -> str:
    puts = (loss.put for loss in losses if loss.instead == "extension")
    return META_EXTENSION if any(META_EXTENSION in put for put in puts) else EXTENSION
