"""One Ferrule uses another: two real processes, each with its own policy, keys and ledger (OXP-19 to OXP-50)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ferrule.access.keys import Access
from tests.servers.local_server import running_process
from tests.servers.oxp.written import ADDENDS, definition

FUNCTIONS = """
import ferrule

@ferrule.tool("Calculator.Add")
def add(a: float, b: float) -> float:
    return a + b

@ferrule.tool("Money.Send")
def send(context: ferrule.Context) -> str:
    return f"sent for {context.principal}"

@ferrule.tool("Mail.Count")
def count(context: ferrule.Context) -> int:
    return len(context.credentials["MAIL_KEY"])
"""
POLICY = """
[[rules]]
id = "sums"
decision = "allow"
tool = ["*Calculator_Add", "*Mail_Count"]

[[rules]]
id = "money"
decision = "{money}"
tool = "*Money_Send"
"""
DEFINITIONS = [
    definition("Calculator.Add@1.0.0", ADDENDS, {"type": "number"}),
    definition("Money.Send@1.0.0", output={"type": "string"}, requirements={"user_id": True}),
    definition("Mail.Count@1.0.0", output={"type": "integer"}, requirements={"secrets": [{"id": "MAIL_KEY"}]}),
]
BINDINGS = '[secrets.bindings.MAIL_KEY]\nsource = "env"\nname = "FAR_MAIL_KEY"\n'


def far_workspace(folder: Path) -> str:
    """The one that has the tools; gives a key for the other."""
    folder.mkdir()
    (folder / "ferrule.toml").write_text(f'[functions]\nmodules = ["functions.py"]\n{BINDINGS}')
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "tools.json").write_text(json.dumps(DEFINITIONS))
    (folder / "policy.toml").write_text(POLICY.format(money="ask"))
    access = Access(folder)
    return access.add(access.local_owner(), "the other ferrule", ["call"])[1]


def near_workspace(folder: Path, url: str) -> None:
    """The one that uses them."""
    folder.mkdir()
    (folder / "ferrule.toml").write_text(
        '[network]\nallow = ["127.0.0.1"]\n'
        f'[oxp.servers.far]\nurl = "{url}/oxp"\napi_key = {{ source = "env", name = "FAR_KEY" }}\n'
    )
    (folder / "policy.toml").write_text(POLICY.format(money="allow"))


def ferrule(*words: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ferrule", *words], capture_output=True, text=True, timeout=60, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def call(url: str, key: str, **request: Any) -> tuple[int, Any]:
    asked = urllib.request.Request(
        f"{url}/oxp/tools/call",
        json.dumps({"request": request}).encode(),
        {"Content-Type": "application/json", "OXP-API-Key": key},
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_one_workspace_uses_the_tools_of_another(tmp_path: Path) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    env = {"FAR_KEY": far_workspace(far)}
    with running_process(far) as there:
        near_workspace(near, there.url)
        locked = ferrule("lock", "--workspace", str(near), env=env)
        assert "Calculator.Add@1.0.0" in locked
        assert "as accepted" in ferrule("lock", "--check", "--workspace", str(near), env=env)
        with running_process(near, env=env) as here:
            key = here.token(near)
            status, body = call(here.url, key, tool_id="far.Calculator_Add", input={"a": 40, "b": 2})
            assert (status, body["result"]["value"]) == (200, 42)
            status, body = call(here.url, key, tool_id="far.Calculator_Add", input={"a": 40})
            assert (status, list(body["parameter_errors"])) == (422, ["b"])
            request = {"tool_id": "far.Money_Send@1", "call_id": "one", "context": {"user_id": "ada"}}
            status, body = call(here.url, key, **request)
            assert (status, body["result"]["error"]["pending"]) == (200, True), body
            waiting = json.loads(ferrule("pending", "--workspace", str(far), "--json", env={}))
            (asked,) = waiting["pending"] if isinstance(waiting, dict) else waiting
            assert asked["principal"] == "ada"
            ferrule("approve", asked["invocation_id"], "--workspace", str(far), env={})
            until = time.monotonic() + 30
            while not body["result"]["success"] and time.monotonic() < until:
                time.sleep(0.2)
                status, body = call(here.url, key, **request)
            assert body["result"]["value"] == "sent for ada"


def test_a_secret_that_the_other_workspace_has_itself_is_asked_of_nobody(tmp_path: Path) -> None:
    """OXP-37, OXP-39"""
    far, near = tmp_path / "far", tmp_path / "near"
    env = {"FAR_KEY": far_workspace(far)}
    with running_process(far, env={"FAR_MAIL_KEY": "four-and-more-letters"}) as there:
        near_workspace(near, there.url)
        ferrule("lock", "--workspace", str(near), env=env)
        assert ferrule("call", "far.Mail.Count", "--workspace", str(near), env=env).strip() == "21"
