"""The audit in words: pure functions from what the HTTP API says to what people read."""

from __future__ import annotations

from typing import Any

TOPICS = {
    "file": "The file is damaged",
    "schema": "The file's tables are not those of a ledger",
    "sequence": "Rows are missing, added or out of order",
    "hash": "A row is not what was written",
    "time": "A row is earlier than the row before",
    "head": "The signed head does not fit the rows",
    "table": "A table is not what the rows give",
    "erasure": "A payload is gone without a record, or there in spite of one",
    "pruning": "The start is not backed by a record",
    "history": "The rows of a call are no possible history",
    "approval": "Something ran that had to be approved first",
    "witness": "The witness saw something else",
}


def sentence(state: dict[str, Any]) -> dict[str, str]:
    """How the ledger stands: what is said, and how it looks (`ok`, `bad`, `warn` or nothing)."""
    check, rows = state["check"], f"{state['rows']:,} {'row' if state['rows'] == 1 else 'rows'}"
    result = check["result"]
    if check["problem"]:
        return {"kind": "bad", "text": f"The ledger could not be checked: {check['problem']}."}
    if len(state["heads"]) != 1:
        return {"kind": "bad", "text": f"The ledger has {len(state['heads'])} heads instead of one. Check it now."}
    if result is None:
        return {"kind": "", "text": f"The ledger has {rows}. It was not checked yet since this server started."}
    if not result["is_clean"]:
        return {"kind": "bad", "text": broken(result)}
    newer = state["last_seq"] - result["last_seq"]
    more = f" {newer:,} {'row was' if newer == 1 else 'rows were'} added since." if newer > 0 else ""
    checked = f"{result['rows']:,} {'row' if result['rows'] == 1 else 'rows'}"
    return {"kind": "ok", "text": f"The ledger is what was written: all {checked} were checked.{more}"}


def broken(result: dict[str, Any]) -> str:
    """What is wrong, with the first row it is about."""
    count, first = result["finding_count"], next((one for one in result["findings"] if one["seq"] is not None), None)
    where = f" The first is row {first['seq']:,}: it {first['message']}." if first is not None else ""
    if first is None and result["findings"]:
        where = f" {result['findings'][0]['message'][:1].upper()}{result['findings'][0]['message'][1:]}."
    return f"The ledger is not what was written: {count:,} {'thing is' if count == 1 else 'things are'} wrong.{where}"


def findings(result: dict[str, Any] | None, most: int) -> list[dict[str, Any]]:
    """What is wrong, in words, as far as it fits on a page."""
    listed = result["findings"][:most] if result is not None else []
    return [{**one, "what": TOPICS.get(one["topic"], one["topic"])} for one in listed]


def percent(check: dict[str, Any]) -> int | None:
    """How far a check is; None when that is not known yet."""
    total = check["rows_total"]
    return min(99, 100 * check["rows_done"] // total) if total else None


def sidebar(state: dict[str, Any]) -> dict[str, Any] | None:
    """What the frame shows of the last check; None when there was none."""
    result = state["result"]
    if result is None:
        return None
    return {"is_intact": result["is_clean"], "rows": result["rows"], "at": state["checked_at"]}


def size(number: int) -> str:
    """Bytes for people."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= least:
            return f"{number / least:.1f} {unit}"
    return f"{number} bytes"
