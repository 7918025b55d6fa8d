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
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.table import PolicyTable
from ferrule.runtime.policy.toml_positions import TomlPositions

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
    """One call and its expected decision."""

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
    """Reads the cases of a table. Raises PolicyError that names the first mistake."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{file} is not TOML: {error}") from None
    findings: list[Finding] = []
    places = TomlPositions(text)
    top = PolicyTable(value, (), findings)
    top.refuse_unknown_keys(("cases",))
    cases = [_read_case(table, places, number) for number, table in enumerate(top.read_tables("cases"), start=1)]
    if findings:
        first = findings[0]
        hint = f"; {first.hint}" if first.hint else ""
        raise PolicyError(f"{file}:{places.find(first.path).line}: {first.message}{hint}")
    return cases


def _read_case(table: PolicyTable, places: TomlPositions, number: int) -> Case:
    table.refuse_unknown_keys(_KEYS)
    for key in ("tool", "expect"):
        if key not in table.value:
            table.add_error(f"the case has no `{key}`", key)
    arguments = table.read_table("arguments")
    caller: JsonObject = {
        key: table.read_text(key) for key in ("principal", "agent", "channel", "tenant", "model", "role")
    }
    if "interactive" in table.value:
        caller["is_interactive"] = table.read_flag("interactive")
    tool = table.read_text("tool")
    return Case(
        name=table.read_text("name") or f"{number}: {tool}",
        line=places.find(table.path).line,
        tool=tool,
        expect=table.read_word("expect", EXPECTED) or "",
        arguments=arguments.value if arguments is not None else {},
        rule=table.read_text("rule"),
        caller={key: value for key, value in caller.items() if value != ""},
    )
