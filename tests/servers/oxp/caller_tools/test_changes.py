"""What changes while the server runs is seen with the next request (OXP-20, OXP-23)."""

from __future__ import annotations

import json
from pathlib import Path

import ferrule
from tests.servers.oxp.oxp_server import POLICY, OxpTestServer, running_oxp_server
from tests.servers.oxp.written import definition

RING = "Doorbell.Ring@0.1.0"


def list_ids(made: OxpTestServer) -> set[str]:
    return {tool["id"] for tool in made.ask("GET", "/oxp/tools").json()["tools"]}


def test_a_tool_that_is_switched_off_is_gone_at_once_and_comes_back(tmp_path: Path) -> None:
    with running_oxp_server(tmp_path) as made:
        app = made.stand.app
        assert RING in list_ids(made)
        made.run(app.disable("Doorbell.Ring", by="ada"))
        assert RING not in list_ids(made)
        assert made.call(tool_id="Doorbell.Ring").json()["message"] == "there is no tool Doorbell.Ring"
        made.run(app.enable("Doorbell.Ring", by="ada"))
        assert RING in list_ids(made)
        assert made.call(tool_id="Doorbell.Ring").json()["result"]["success"] is True


def test_a_rule_takes_a_tool_away(tmp_path: Path) -> None:
    with running_oxp_server(tmp_path) as made:
        assert RING in list_ids(made)
        more = '[[rules]]\nid = "no-bells"\ndecision = "deny"\ntool = "Doorbell_Ring"\n'
        (tmp_path / "policy.toml").write_text(f"{POLICY}\n{more}")
        made.run(_reload(made))
        assert RING not in list_ids(made)
        assert made.call(tool_id=RING).status == 400


async def _reload(made: OxpTestServer) -> None:
    made.stand.app.reload()


def test_a_new_version_is_the_latest_and_the_old_one_stays(tmp_path: Path) -> None:
    """OXP-30, OXP-50"""
    rung = []

    @ferrule.tool("Doorbell.Ring")
    def ring(loud: bool = False) -> None:
        rung.append(loud)

    loud = {"type": "object", "properties": {"loud": {"type": "boolean", "description": "How."}}}
    old = definition("Doorbell.Ring@0.1.0", loud)
    allow = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
    with running_oxp_server(tmp_path, definitions=[old], tools=[ring], policy=allow) as made:
        assert list_ids(made) == {RING}
        new = definition("Doorbell.Ring@0.2.0", {**loud, "required": ["loud"]})
        (tmp_path / "tools.json").write_text(json.dumps([old, new]))
        assert made.run(made.stand.app.rebuild())
        assert list_ids(made) == {RING, "Doorbell.Ring@0.2.0"}
        assert made.call(tool_id="Doorbell.Ring").status == 422
        assert made.call(tool_id=RING).json()["result"]["success"] is True
    assert rung == [False]
