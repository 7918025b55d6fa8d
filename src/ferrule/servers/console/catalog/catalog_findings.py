"""The page of findings in the workspace's definitions, file by file, each at its line.

It formats what `/v1/catalog/diagnostics` returns and checks nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console.catalog.tool_words import CATALOG, address_of
from ferrule.servers.console.rendering import count, query
from ferrule.servers.console.view import ConsoleView

_PAGE_SIZE = 50
_SEVERITIES = (("error", "Errors", "errors"), ("warning", "Warnings", "warnings"), ("info", "Hints", "infos"))


async def show_diagnostics(view: ConsoleView) -> HttpAnswer:
    """`GET /console/catalog?view=diagnostics`"""
    severity = view.query.get("severity", "")
    severity = severity if severity in {name for name, _, _ in _SEVERITIES} else ""
    file = view.query.get("file", "")[:500]
    skip = view.number("after") or 0
    try:
        found = await view.api.get(
            "/catalog/diagnostics", severity=severity, file=file, cursor=skip or None, limit=_PAGE_SIZE
        )
    except Problem as problem:
        if problem.status != 409:
            raise
        return await view.page("catalog_diagnostics.html", problem=problem.detail, **_NOTHING)
    return await view.page(
        "catalog_diagnostics.html",
        problem="",
        sentence=write_sentence(found["summary"]),
        summary=found["summary"],
        severity=severity,
        file=file,
        matched=found["matched"],
        chips=_list_chips(found["summary"], severity, file),
        files=group_by_file(found["items"]),
        first=skip + 1,
        before=_at(severity, file, max(0, skip - _PAGE_SIZE)) if skip else None,
        after=_at(severity, file, skip + _PAGE_SIZE) if skip + _PAGE_SIZE < found["matched"] else None,
    )


_NOTHING: dict[str, Any] = {
    "sentence": "The definitions cannot be checked.", "summary": None, "severity": "", "file": "", "matched": 0, "chips": [],
    "files": [], "first": 0, "before": None, "after": None,
}  # fmt: skip


def _at(severity: str, file: str, skip: int) -> str:
    return CATALOG + query(view="diagnostics", severity=severity, file=file, after=skip or None)


def write_sentence(summary: Mapping[str, Any]) -> str:
    """Returns the result of the check in one sentence."""
    errors, warnings, files = summary["errors"], summary["warnings"], summary["files"]
    if not files:
        return "There are no definition files to check."
    where = f"{count(files)} {'file' if files == 1 else 'files'}"
    if not (errors or warnings or summary["infos"]):
        return f"No problems in {where}."
    notes = [
        f"{count(number)} {noun if number == 1 else f'{noun}s'}"
        for number, noun in ((errors, "error"), (warnings, "warning"), (summary["infos"], "hint"))
        if number
    ]
    kept = "; the catalog in force is the last valid build" if errors else ""
    return f"{', '.join(notes)} in {where}{kept}."


def _list_chips(summary: Mapping[str, object], chosen: str, file: str) -> list[JsonObject]:
    return [
        {
            "label": label,
            "count": summary[key],
            "is_chosen": chosen == name,
            "address": _at("" if chosen == name else name, file, 0),
        }
        for name, label, key in _SEVERITIES
        if summary[key] or chosen == name
    ]


def group_by_file(items: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Groups findings by file, with the tools that each file defines."""
    found = []
    for file, group in groupby(items, key=lambda item: str(item["file"])):
        findings = list(group)
        tools = [{"tool_id": tool_id, "address": address_of(tool_id)} for tool_id in findings[0]["tools"][:20]]
        found.append({"file": file, "tools": tools, "findings": [split_finding(each) for each in findings]})
    return found


def split_finding(item: Mapping[str, Any]) -> JsonObject:
    """Returns one finding, its marked line in three pieces."""
    lines = [
        {
            "number": line["number"],
            "is_marked": line["start"] is not None,
            "before": line["text"][: line["start"] or 0],
            "marked": line["text"][line["start"] : line["end"]] if line["start"] is not None else "",
            "after": line["text"][line["end"] or 0 :],
        }
        for line in item["source"]
    ]
    name = str(item["name"] or item["rule"])
    return {**item, "title": name[:1].upper() + name[1:], "lines": lines}
