"""Functions of this process as hooks: a plain one, an async one, and one by its mark."""

from __future__ import annotations

from pathlib import Path

from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.runtime.hooks.function import hook
from tests.runtime.hooks.workspace import RAN, build_hook, call


def test_a_function_of_the_workspace_is_asked(tmp_path: Path) -> None:
    """AT-146: an async one too, and a dict is an answer."""
    (tmp_path / "checks.py").write_text(
        "def plain(told):\n    return {'updated_input': {'city': 'Thun'}}\n"
        "async def later(told):\n    return {'stop': told.observable_input['city']}\n"
        "def wrong(told):\n    return {'sotp': 'x'}\n"
    )
    assert call(build_hook(tmp_path, kind="function", function="checks.py:plain")).text == "seen Thun"
    assert "Bern" in call(build_hook(tmp_path, kind="function", function="checks.py:later")).text and not RAN
    result = call(build_hook(tmp_path, kind="function", function="checks.py:wrong"))
    assert result.error is not None and result.error.error_code == "hook_failed"


def test_a_function_becomes_a_hook_by_its_mark() -> None:
    """AT-144"""

    @hook("pre_tool_use", tools=["look"])
    def no_berne(told: HookInput) -> HookOutput | None:
        return HookOutput(stop="not there") if told.observable_input["city"] == "Bern" else None

    result = call(no_berne)
    assert "'no_berne'" in result.text and not RAN
