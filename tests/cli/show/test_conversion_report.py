"""What a conversion could not say: one line for what shares a fate and a reason, and a sum that counts right."""

from __future__ import annotations

from typing import Any

from ferrule.cli.show.conversion_report import (
    ConversionReport,
    ConversionSummary,
    LossEntry,
    report_lines,
    summary_line,
)


def loss(field: str, instead: str, **more: Any) -> LossEntry:
    usual: dict[str, Any] = {"tool_id": "shop.pay", "file": "pay.tool.md", "line": 3, "why": "no place for it", "put": "",
                             "rule": "", "is_final": True}  # fmt: skip
    return LossEntry(field=field, instead=instead, **{**usual, **more})


def report(
    *losses: LossEntry, tools: int = 1, left_out: int = 0, names: dict[str, str] | None = None
) -> ConversionReport:
    summary = ConversionSummary(tools, left_out, 0, len(losses), sum(one.is_final for one in losses))
    return ConversionReport("openai", ("out.json",), losses, (), (), names or {}, (), summary)


def test_fields_of_one_fate_and_reason_share_a_line() -> None:
    lines = [
        *report_lines(
            report(loss("title", "dropped"), loss("tags", "dropped", line=9), loss("owner", "dropped", why="x"))
        )
    ]
    assert lines[:3] == [
        "shop.pay (pay.tool.md)",
        "  dropped: title:3, tags:9 (no place for it)",
        "  dropped: owner:3 (x)",
    ]


def test_what_was_put_instead_is_told_where_it_was_made_up_and_cut_where_it_is_long() -> None:
    (_, line, _) = report_lines(report(loss("version", "default", put="1.0.0" + " x" * 100, line=None)))
    assert line.startswith("  made up: version as 1.0.0 x") and "…" in line


def test_very_many_fields_are_not_all_named() -> None:
    (_, line, _) = report_lines(report(*(loss(f"f{number}", "dropped") for number in range(35))))
    assert "f29:3 and 5 more, which --report json lists" in line and "f30" not in line


def test_names_that_had_to_be_changed_are_told() -> None:
    assert "shop.pay is called shop_pay there" in [*report_lines(report(names={"shop_pay": "shop.pay"}))]


def test_the_sum_counts_each_fate_the_mildest_first() -> None:
    two = report(
        loss("a", "dropped"), loss("b", "extension", put="x-ferrule"), loss("c", "dropped"), tools=3, left_out=2
    )
    assert summary_line(two) == "3 tools to openai: 1 thing carried under x-ferrule, 2 dropped; 2 left out"
    assert summary_line(report()) == "1 tool to openai: nothing lost"
    assert summary_line(report(tools=0)) == "0 tools to openai: nothing converted"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert not any("\x1b" in line for line in report_lines(report(loss("a\x1b[2J", "dropped", why="\x1b[31m"))))
