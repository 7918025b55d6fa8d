"""Settings of built-in tools: environment over agent file over default, and off whenever something is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.runtime.builtins.builtin import BUILTINS
from ferrule.runtime.builtins.config import CONFIGS, FetchConfig, ReadConfig, load_config
from tests.runtime.builtins.builtin_tools import expect_refusal

ON = {"enabled": True}


def test_the_tables_know_the_same_tools_and_settings() -> None:
    """ADL-17: exactly these five."""
    assert set(BUILTINS) == set(CONFIGS) == set(BUILTIN_TOOLS) == {"read", "write", "edit", "bash", "fetch"}
    for name, kind in CONFIGS.items():
        assert set(kind.__struct_fields__) == set(BUILTIN_TOOLS[name].config)


def test_defaults() -> None:
    """ADL-23, ADL-25, ADL-28: a number below 1 means the default."""
    assert load_config("read", {**ON, "max_lines": -5}, {}) == ReadConfig(enabled=True, max_lines=2000)
    fetch = load_config("fetch", {**ON, "max_bytes": 0, "timeout_seconds": 0}, {})
    assert isinstance(fetch, FetchConfig)
    assert (fetch.max_bytes, fetch.timeout_seconds, fetch.allow_downloads) == (10 * 1024**2, 30, False)
    assert getattr(load_config("bash", {**ON, "timeout_seconds": 0}, {}), "timeout_seconds") == 30  # noqa: B009


def test_the_environment_wins_over_the_agent_file() -> None:
    """ADL-22"""
    stated = {**ON, "max_lines": 5, "allowed_roots": ["a"]}
    environment = {"TOOLS_READ_MAX_LINES": " 7 ", "TOOLS_READ_ALLOWED_ROOTS": "b, c/d ,", "TOOLS_WRITE_MAX_LINES": "9"}
    assert load_config("read", stated, environment) == ReadConfig(enabled=True, max_lines=7, allowed_roots=("b", "c/d"))
    assert load_config("read", stated, {"TOOLS_READ_MAX_LINES": "0"}) == ReadConfig(enabled=True, allowed_roots=("a",))
    unset = {"TOOLS_READ_MAX_LINES": "", "TOOLS_READ_ALLOWED_ROOTS": " ", "A2A_READ_DISABLED": ""}
    assert load_config("read", stated, unset) == ReadConfig(enabled=True, max_lines=5, allowed_roots=("a",))


@pytest.mark.parametrize("word", ["1", "true", "TRUE", "yes", "on", " t "])
def test_the_environment_can_switch_a_tool_off(word: str) -> None:
    """ADL-22: kill switches."""
    with expect_refusal("capability_gap", "feature_disabled", "A2A_FETCH_DISABLED"):
        load_config("fetch", ON, {"A2A_FETCH_DISABLED": word})
    load_config("read", ON, {"A2A_FETCH_DISABLED": word})
    load_config("fetch", ON, {"A2A_FETCH_DISABLED": "false"})
    with expect_refusal("capability_gap", "feature_disabled", "TOOLS_FETCH_ENABLED"):
        load_config("fetch", ON, {"TOOLS_FETCH_ENABLED": "false"})
    assert load_config("fetch", {}, {"TOOLS_FETCH_ENABLED": word}).enabled


@pytest.mark.parametrize("stated", [{}, {"enabled": False}])
def test_a_tool_that_is_not_enabled_says_which_setting(stated: dict[str, Any]) -> None:
    """ADL-20"""
    for name in BUILTIN_TOOLS:
        with expect_refusal("capability_gap", "feature_disabled", rf"spec\.config\.tools\.{name}\.enabled: true"):
            load_config(name, stated, {})


@pytest.mark.parametrize(
    ("name", "environment", "word"),
    [("read", {"TOOLS_READ_MAX_LINES": "many"}, "TOOLS_READ_MAX_LINES"),
     ("read", {"TOOLS_READ_MAX_LINES": "1e3"}, "TOOLS_READ_MAX_LINES"),
     ("read", {"TOOLS_READ_MAX_LINES": "9" * 40}, "TOOLS_READ_MAX_LINES"),
     ("read", {"TOOLS_READ_MAX_LINES": "٣"}, "TOOLS_READ_MAX_LINES"),
     ("read", {"TOOLS_READ_ALLOWED_ROOTS": " , ,"}, "TOOLS_READ_ALLOWED_ROOTS"),
     ("read", {"TOOLS_READ_ENABLED": "maybe"}, "TOOLS_READ_ENABLED"),
     ("read", {"A2A_READ_DISABLED": "maybe"}, "A2A_READ_DISABLED"),
     ("fetch", {"TOOLS_FETCH_ALLOW_DOWNLOADS": "2"}, "TOOLS_FETCH_ALLOW_DOWNLOADS")],
)  # fmt: skip
def test_a_variable_that_cannot_be_used_turns_the_tool_off(name: str, environment: dict[str, str], word: str) -> None:
    """ADL-22: nothing is guessed, and the message names the variable, not what it holds."""
    with expect_refusal("setup_required", match=word):
        load_config(name, ON, environment)


@pytest.mark.parametrize(
    "stated",
    [{"max_lines": "30"}, {"max_lines": True}, {"max_lines": 3.5}, {"allowed_roots": "a"}, {"allowed_roots": [1]},
     {"enabled": "yes"}, {"tymeout": 1}, {"allowed_roots": None}, {"allowed_roots": ["a", ""]},
     {"allowed_roots": ["a\0b"]}, {"allowed_roots": ["${NONE:-}"]}],
)  # fmt: skip
def test_a_setting_of_another_type_turns_the_tool_off(stated: dict[str, Any]) -> None:
    """ADL-21"""
    with expect_refusal("setup_required", match=r"spec\.config\.tools\.read"):
        load_config("read", {**ON, **stated}, {})
    with expect_refusal("setup_required"):
        load_config("read", [], {})


def test_placeholders_are_filled_in_once() -> None:
    """ADL-37: `${VAR}` in a setting is the environment's; what it holds is not looked into."""
    stated = {**ON, "allowed_roots": ["${BASE}/a", "${NONE:-plain}", "x${EMPTY:-}y"]}
    environment = {"BASE": "/b/${HOME}", "HOME": "/home"}
    assert load_config("read", stated, environment) == ReadConfig(
        enabled=True, allowed_roots=("/b/${HOME}/a", "plain", "xy")
    )
    with expect_refusal("setup_required", match="NONE"):
        load_config("read", {**ON, "allowed_roots": ["${NONE}"]}, {})
    with expect_refusal("setup_required", match="placeholder"):
        load_config("read", {**ON, "allowed_roots": ["${a b}"]}, {})
