"""Builders of hooks, one function per kind: from its settings to the hook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ferrule.contracts.hook import HookEvent
from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.runtime.hooks.builtin import HookTable
from ferrule.runtime.hooks.command import CommandReach
from ferrule.runtime.hooks.external import ExternalHook
from ferrule.runtime.hooks.function import FunctionHook, load_function
from ferrule.runtime.hooks.http import HttpReach

_DEFAULT_VARIABLES = ("PATH", "HOME", "LANG")
"""The environment variables a program sees; `env` names more."""


def build_command_hook(
    each: HookTable, event: HookEvent, root: Path, env: Mapping[str, str], client: Callable[[], Client]
) -> ExternalHook:
    """Builds a hook of `kind = "command"`, which runs in the workspace's folder."""
    seen = {name: env[name] for name in (*_DEFAULT_VARIABLES, *each.env) if name in env}
    try:
        reach = CommandReach(each.command, root, seen, each.timeout_seconds)
    except SettingsError as error:
        raise SettingsError(f"the hook {each.id!r}: {error}") from None
    return ExternalHook(each.id, event, reach, each.tools, each.timeout_seconds)


def build_http_hook(
    each: HookTable, event: HookEvent, root: Path, env: Mapping[str, str], client: Callable[[], Client]
) -> ExternalHook:
    """Builds a hook of `kind = "http"`."""
    if not each.secret_env:
        raise SettingsError(f"the hook {each.id!r}: name the environment variable of its secret in `secret_env`")
    secret = env.get(each.secret_env, "")
    if not secret:
        raise SettingsError(f"the hook {each.id!r}: set its secret in the environment variable {each.secret_env}")
    try:
        reach = HttpReach(client(), each.url, secret, each.timeout_seconds)
    except SettingsError as error:
        raise SettingsError(f"the hook {each.id!r}: {error}") from None
    return ExternalHook(each.id, event, reach, each.tools, each.timeout_seconds)


def build_function_hook(
    each: HookTable, event: HookEvent, root: Path, env: Mapping[str, str], client: Callable[[], Client]
) -> FunctionHook:
    """Builds a hook of `kind = "function"`."""
    return FunctionHook(each.id, event, load_function(each.function, root, each.id), each.tools, each.timeout_seconds)
