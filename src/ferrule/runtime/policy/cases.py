"""Tables of cases: what a policy should say about which call. `ferrule policy test` runs them.

[[cases]]
tool = "refund"
arguments = { amount = 500 }
principal = "ada"
expect = "ask"
rule = "refunds-above-100"
"""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

from ferrule.errors import PolicyError
from ferrule.model.diagnostic import Finding
from ferrule.runtime.policy.places import Places
from ferrule.runtime.policy.table import Table

EXPECTED = ("allow", "ask", "deny", "blocked")
"""`blocked`: the call ends before the policy is asked."""
_KEYS = (
    "name",
    "tool",
    "arguments",
    "principal",
    "agent",
    "channel",
    "tenant",
    "model",
    "role",
    "interactive",
    "expect",
    "rule",
)


class Case(NamedTuple):
    """One call and what should become of it."""

    name: str
    line: int
    tool: str
    expect: str
    arguments: dict[str, Any]
    rule: str
    """The id of the rule that should decide; empty when it does not matter."""
    caller: dict[str, Any]
    """Members of a `SurfaceRequest`."""


def read_cases(text: str, file: str) -> list[Case]:
    """The cases of a table. Raises PolicyError that names the first mistake."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{file} is not TOML: {error}") from None
    findings: list[Finding] = []
    places = Places(text)
    top = Table(value, (), findings)
    top.closed(("cases",))
    cases = [_case(table, places, number) for number, table in enumerate(top.tables("cases"), start=1)]
    if findings:
        first = findings[0]
        hint = f"; {first.hint}" if first.hint else ""
        raise PolicyError(f"{file}:{places.find(first.path).line}: {first.message}{hint}")
    return cases


def _case(table: Table, places: Places, number: int) -> Case:
    table.closed(_KEYS)
    for key in ("tool", "expect"):
        if key not in table.value:
            table.wrong(f"the case has no `{key}`", key)
    arguments = table.table("arguments")
    caller: dict[str, Any] = {
        key: table.text(key) for key in ("principal", "agent", "channel", "tenant", "model", "role")
    }
    if "interactive" in table.value:
        caller["is_interactive"] = table.flag("interactive")
    tool = table.text("tool")
    return Case(
        name=table.text("name") or f"{number}: {tool}",
        line=places.find(table.path).line,
        tool=tool,
        expect=table.word("expect", EXPECTED) or "",
        arguments=arguments.value if arguments is not None else {},
        rule=table.text("rule"),
        caller={key: value for key, value in caller.items() if value != ""},
    )
