"""Input that is refused before anything ran is a 422, whoever refuses it, and leaves the `call_id` free (OXP-23, OXP-24)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ferrule
from tests.servers.oxp.oxp_server import OxpTestServer, running_oxp_server
from tests.servers.oxp.written import definition

RAN: list[str] = []
NAMED = {"type": "object", "properties": {"name": {"type": "string", "description": "Whose."}}, "required": ["name"]}
COUNTED = {
    "type": "object",
    "properties": {
        "from": {"type": "integer", "description": "Where to begin."},
        "names": {"type": "array", "items": {"type": "string", "minLength": 2}, "description": "Whose."},
        "upto": {"type": "number", "minimum": 3, "multipleOf": 1, "description": "Where to end."},
    },
    "required": ["from"],
    "additionalProperties": False,
}
ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


@ferrule.tool("Greeter.Greet")
def greet(name: str) -> str:
    RAN.append(name)
    return f"hello {name}"


@greet.check
def known(name: str) -> str | None:
    return "nobody is called that" if name == "nobody" else None


@ferrule.tool("Greeter.Count")
def count(**given: Any) -> int:
    return len(given)


@ferrule.tool(namespace="Greeter", read_only=True, version="1.0.0")
def find(name: str) -> str:
    """Look for somebody."""
    RAN.append(name)
    raise ferrule.ToolFailed("there is nobody of that name", error_class="invalid_arguments")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxpTestServer]:
    written = [definition("Greeter.Greet@1.0.0", NAMED, {}), definition("Greeter.Count@1.0.0", COUNTED, {})]
    with running_oxp_server(
        tmp_path_factory.mktemp("oxp"), definitions=written, tools=[greet, count, find], policy=ALLOW
    ) as one:
        yield one


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "ada", "c": 1}, "takes no field 'c'"),
        ({"name": "nobody"}, "nobody is called that"),
        ({"name": 5}, "name"),
    ],
)
def test_what_a_tool_refuses_before_it_runs_is_a_422(made: OxpTestServer, given: dict[str, Any], told: str) -> None:
    """OXP-23, OXP-24, OXP-28: and corrected input is another try of the same call."""
    RAN.clear()
    call_id = f"of {told}"
    for _ in range(2):
        reply = made.call(tool_id="Greeter.Greet", call_id=call_id, input=given)
        assert (reply.status, RAN) == (422, [])
        assert told in reply.json()["message"] and "result" not in reply.json()
    mended = [made.call(tool_id="Greeter.Greet", call_id=call_id, input={"name": "ada"}) for _ in range(2)]
    assert [one.json()["result"]["value"] for one in mended] == ["hello ada"] * 2
    assert RAN == ["ada"]


def test_a_tool_that_ran_and_finds_fault_with_its_input_has_failed(made: OxpTestServer) -> None:
    """OXP-22"""
    RAN.clear()
    replies = [made.call(tool_id="Greeter.find", call_id="ran", input={"name": "ada"}) for _ in range(2)]
    assert [(one.status, one.json()["result"]["success"]) for one in replies] == [(200, False)] * 2
    assert RAN == ["ada"]
    assert made.call(tool_id="Greeter.find", call_id="ran", input={"name": "eve"}).status == 400


def test_each_parameter_is_told_everything_that_is_wrong_with_it(made: OxpTestServer) -> None:
    """OXP-35"""
    reply = made.call(tool_id="Greeter.Count", input={"names": ["a", 5], "upto": 1.5, "more": 1, "most": 2})
    assert reply.status == 422
    assert reply.json()["parameter_errors"] == {
        "from": "'from' is missing; add it",
        "names": "'names[0]' must have at least 2 characters; it is 'a'\n'names[1]' must be text; it is 5",
        "upto": "'upto' must be 3 or more; it is 1.5\n'upto' must be a multiple of 1; it is 1.5",
        "more": "'more' is not a field of this tool; the fields are 'from', 'names', 'upto'",
        "most": "'most' is not a field of this tool; the fields are 'from', 'names', 'upto'",
    }
