"""The hooks of a workspace: made from settings, refused where they could never work, and asked for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.hook import HookInput
from ferrule.errors import SettingsError
from ferrule.runtime.hooks.builtin import build_hooks
from ferrule.settings import HookSettings
from tests.runtime.hooks.fake_provider import local_client
from tests.runtime.hooks.workspace import ENV, RAN, build_hook, call, script


def test_a_program_changes_the_input(tmp_path: Path) -> None:
    """AT-146, AT-149: what it is told and what it says are JSON."""
    code = """
import json, sys
told = json.load(sys.stdin)
json.dump(told, open("told.json", "w"))
print(json.dumps({"updated_input": {"city": told["observable_input"]["city"] + "!"}, "messages": ["shouted"]}))
"""
    result = call(build_hook(tmp_path, kind="command", command=script(tmp_path, code)))
    assert result.text == "seen Bern!"
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["event"] == "pre_tool_use" and told["tool_name"] == "look"
    assert told["observable_input"] == {"city": "Bern"}
    assert set(told) <= set(HookInput.__struct_fields__)


def test_a_program_sees_what_the_tool_gave(tmp_path: Path) -> None:
    """AT-146, AT-157"""
    code = """
import json, sys
text = json.load(sys.stdin)["result"]["content"][0]["text"]
print(json.dumps({"updated_output": text.upper()}))
"""
    result = call(build_hook(tmp_path, kind="command", event="post_tool_use", command=script(tmp_path, code)))
    assert (result.text, result.content[0]["text"]) == ("SEEN BERN", "seen Bern")


def test_a_program_that_is_late_blocks(tmp_path: Path) -> None:
    """AT-158"""
    command = script(tmp_path, "import time; time.sleep(600)")
    result = call(build_hook(tmp_path, kind="command", command=command, timeout_seconds=0.1))
    assert result.error is not None and "within 0.1 s" in result.error.message
    assert not RAN


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"kind": "command"}, "say `command` too"),
        ({"kind": "http", "secret_env": "HOOK_SECRET"}, "say `url` too"),
        ({"kind": "function"}, "say `function` too"),
        ({"kind": "command", "command": ("x",), "url": "https://example.com/"}, "leave out `url`"),
        ({"kind": "function", "function": "a:b", "env": ("X",)}, "leave out `env`"),
        ({"kind": "command", "command": ("x",), "event": "pre_tool"}, "never comes"),
        ({"kind": "command", "command": ("x",), "id": " "}, "give it an id"),
        ({"kind": "command", "command": ("x",), "tools": ()}, "would see no tool"),
        ({"kind": "command", "command": ("",)}, "list of words"),
        ({"kind": "http", "url": "https://example.com/"}, "secret_env"),
        ({"kind": "http", "url": "https://example.com/", "secret_env": "MISSING"}, "variable MISSING"),
        ({"kind": "http", "url": "http://example.com/", "secret_env": "HOOK_SECRET"}, "must use https"),
        ({"kind": "function", "function": "nothing"}, "module:name"),
        ({"kind": "function", "function": "no_such_module_here:x"}, "no_such_module_here"),
        ({"kind": "function", "function": "json:no_such_name"}, "no function 'no_such_name'"),
    ],
)
def test_a_hook_that_could_never_work_is_refused_at_once(tmp_path: Path, said: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        build_hook(tmp_path, **said)


def test_two_hooks_of_one_name_at_one_event_are_refused(tmp_path: Path) -> None:
    one = HookSettings(id="guard", event="pre_tool_use", kind="command", command=("true",))
    with pytest.raises(SettingsError, match="rename one"):
        build_hooks([one, one], tmp_path, ENV, local_client)
