"""What must not be learned or broken through the operations that the console is made of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.local_server import running_server


@driven
async def test_what_calls_did_does_not_tell_hidden_tools_from_those_that_do_not_exist(tmp_path: Path) -> None:
    async with api(tmp_path) as here:

        async def counted(who: str, calls: int) -> Any:
            for _ in range(200):
                state = (await here.ask(who, "GET", "/v1/activity")).json()
                if state["is_complete"] and state["calls"] == calls:
                    break
            return state

        async def told(who: str, tool: str) -> Any:
            for arguments in ({}, {"unfit": 1}):
                assert (await here.call(who, tool, arguments)).status == 404
            state = await counted(who, 2)
            for name in ("as_of", "counted_until"):
                del state[name]
            for minute in state["minutes"]:
                del minute["at"]
            state["minutes"] = [minute for minute in state["minutes"] if any(minute.values())]
            return state

        hidden, unknown = await told("ada", "secret_tool"), await told("bob", "secret_toox")
        assert hidden["failing"] == [{"tool": "secret_tool", "calls": 2}]
        hidden["failing"][0]["tool"] = "secret_toox"
        assert hidden == unknown
        everything = await counted("oda", 4)
        assert everything["denied"] >= 1 and everything["denied"] + everything["failed"] == 4


@driven
async def test_what_is_wrong_with_a_policy_is_shown_without_secrets_and_without_files_from_elsewhere(
    tmp_path: Path,
) -> None:
    folder, outside = tmp_path / "workspace", tmp_path / "outside.toml"
    folder.mkdir()
    outside.write_text('somebody = "elsewhere"\n')
    os.symlink(outside, folder / "policy.toml")
    toml = '[policy]\nmood = "strict"\npassword = "hunter2hunter2"\n'
    async with running_server(folder, toml=toml, auth=True) as stand:
        reply = await stand.ask("GET", "/v1/policy", headers={"Authorization": f"Bearer {stand.owner()}"})
        problems = reply.json()["problems"]
        assert {each["file"] for each in problems} == {"ferrule.toml", "policy.toml"}
        assert b"hunter2" not in reply.body and b"elsewhere" not in reply.body
        lines = next(each["excerpt"] for each in problems if each["file"] == "ferrule.toml")
        assert [(line["number"], line["text"], line["is_meant"]) for line in lines] == [
            (1, "[policy]", False),
            (2, 'mood = "strict"', True),
            (3, "password = [REDACTED]", False),
        ]
