"""The hooks of a workspace: made from settings, refused where they could never work, and asked for real."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.contracts.hook import Hook, HookFailed, HookInput, HookOutput
from ferrule.errors import SettingsError
from ferrule.infra.network.post import is_authentic
from ferrule.model.result import Result
from ferrule.runtime.hooks.builtin import hooks_of
from ferrule.runtime.hooks.external import answer_of
from ferrule.runtime.hooks.function import hook
from ferrule.settings import HookSettings
from ferrule.testing import memory_app
from tests.runtime.hooks.answering import answering

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "HOOK_SECRET": "a secret of some length", "OTHER": "s3cret"}
RAN: list[str] = []


@ferrule.tool(read_only=True)
async def look(city: str) -> str:
    """Looks."""
    RAN.append(city)
    return f"seen {city}"


def made(root: Path, **said: Any) -> Hook:
    """The one hook of these settings."""
    usual: dict[str, Any] = {"id": "guard", "event": "pre_tool_use", "timeout_seconds": 10.0}
    (one,) = hooks_of([HookSettings(**(usual | said))], root, ENV, ("127.0.0.1",))
    return one


def script(root: Path, code: str) -> tuple[str, ...]:
    (root / "guard.py").write_text(code)
    return (sys.executable, "guard.py")


def call(*hooks: Hook) -> Result:
    RAN.clear()

    async def story() -> Result:
        async with memory_app(tools=[look], hooks=hooks) as app:
            result = await app.surface().call("look", {"city": "Bern"})
            assert isinstance(result, Result)
            return result

    return asyncio.run(asyncio.wait_for(story(), 20))


def test_a_program_changes_the_input(tmp_path: Path) -> None:
    """AT-146, AT-149: what it is told and what it says are JSON."""
    code = """
import json, sys
told = json.load(sys.stdin)
json.dump(told, open("told.json", "w"))
print(json.dumps({"updated_input": {"city": told["observable_input"]["city"] + "!"}, "messages": ["shouted"]}))
"""
    result = call(made(tmp_path, kind="command", command=script(tmp_path, code)))
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
    result = call(made(tmp_path, kind="command", event="post_tool_use", command=script(tmp_path, code)))
    assert (result.text, result.content[0]["text"]) == ("SEEN BERN", "seen Bern")


def test_a_program_sees_little_of_the_environment(tmp_path: Path) -> None:
    code = 'import json, os; print(json.dumps({"messages": [], "stop": " ".join(sorted(os.environ))}))'
    result = call(made(tmp_path, kind="command", command=script(tmp_path, code), env=("HOOK_SECRET", "MISSING")))
    assert "HOOK_SECRET" in result.text and "OTHER" not in result.text


NO_ANSWERS = (
    *("", "no JSON", "[]", "null", "{} {}"),
    *('{"sotp": "x"}', '{"permission": "maybe"}', '{"updated_input": [1]}', '{"stop": 7}'),
)


@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_what_a_program_says_is_read_strictly(tmp_path: Path, answer: str) -> None:
    """AT-158"""
    result = call(made(tmp_path, kind="command", command=script(tmp_path, f"print({answer!r}, end='')")))
    assert result.error is not None and result.error.error_code == "hook_failed"
    assert "'guard'" in result.error.message and not RAN


def test_a_program_that_is_late_blocks(tmp_path: Path) -> None:
    """AT-158"""
    command = script(tmp_path, "import time; time.sleep(600)")
    result = call(made(tmp_path, kind="command", command=command, timeout_seconds=0.1))
    assert result.error is not None and "within 0.1 s" in result.error.message
    assert not RAN


def test_an_address_is_asked_signed(tmp_path: Path) -> None:
    """AT-146, AT-154"""
    with answering(lambda body: b'{"permission": "deny", "permission_reason": "closed"}') as server:
        result = call(made(tmp_path, kind="http", url=server.url, secret_env="HOOK_SECRET"))
    assert result.error is not None and result.error.error_class == "permission_denied"
    assert "closed" in result.text and not RAN
    (asked,) = server.asked
    header = asked.headers["Ferrule-Signature"]
    assert is_authentic(b"a secret of some length", header, asked.body, now=int(header[2:].partition(",")[0]))
    assert json.loads(asked.body)["observable_input"] == {"city": "Bern"}


def test_a_function_of_the_workspace_is_asked(tmp_path: Path) -> None:
    """AT-146: an async one too, and a dict is an answer."""
    (tmp_path / "checks.py").write_text(
        "def plain(told):\n    return {'updated_input': {'city': 'Thun'}}\n"
        "async def later(told):\n    return {'stop': told.observable_input['city']}\n"
        "def wrong(told):\n    return {'sotp': 'x'}\n"
    )
    assert call(made(tmp_path, kind="function", function="checks.py:plain")).text == "seen Thun"
    assert "Bern" in call(made(tmp_path, kind="function", function="checks.py:later")).text and not RAN
    result = call(made(tmp_path, kind="function", function="checks.py:wrong"))
    assert result.error is not None and result.error.error_code == "hook_failed"


def test_tools_limit_what_a_hook_sees(tmp_path: Path) -> None:
    """AT-147"""
    fitting = made(tmp_path, kind="command", command=("true",), tools=("shop.*", "refund"))
    assert fitting.matches("shop.search", "search") and fitting.matches("bank.refund", "refund")
    assert not fitting.matches("bank.search", "search")


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
        made(tmp_path, **said)


def test_two_hooks_of_one_name_at_one_event_are_refused(tmp_path: Path) -> None:
    one = HookSettings(id="guard", event="pre_tool_use", kind="command", command=("true",))
    with pytest.raises(SettingsError, match="rename one"):
        hooks_of([one, one], tmp_path, ENV)


def test_a_function_becomes_a_hook_by_its_mark() -> None:
    """AT-144"""

    @hook("pre_tool_use", tools=["look"])
    def no_berne(told: HookInput) -> HookOutput | None:
        return HookOutput(stop="not there") if told.observable_input["city"] == "Bern" else None

    result = call(no_berne)
    assert "'no_berne'" in result.text and not RAN


@pytest.mark.parametrize("text", [b'{"stop": "s3cret", "x-s3cret": 1}', b'{"permission": "s3cret"}', b"s3cret"])
def test_a_complaint_about_an_answer_repeats_none_of_it(text: bytes) -> None:
    with pytest.raises(HookFailed) as failed:
        answer_of(text)
    assert "s3cret" not in str(failed.value)
