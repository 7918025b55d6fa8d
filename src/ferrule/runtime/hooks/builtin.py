"""The kinds of hooks that come with Ferrule, by `kind` in `[[hooks]]`, and the hooks of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ferrule.contracts.hook import HOOK_EVENTS, Hook, HookEvent
from ferrule.contracts.registry import Registry
from ferrule.errors import SettingsError
from ferrule.model.hints import nearest

if TYPE_CHECKING:
    from ferrule.infra.network.client import Client

HOOKS = {
    "command": "ferrule.runtime.hooks.making:build_command_hook",
    "http": "ferrule.runtime.hooks.making:build_http_hook",
    "function": "ferrule.runtime.hooks.making:build_function_hook",
}
_REQUIRED_KEY = {"command": "command", "http": "url", "function": "function"}
"""The key that each kind requires."""
_OPTIONAL_KEYS = {"command": ("env",), "http": ("secret_env",), "function": ()}
"""The further keys of each kind."""


class HookTable(Protocol):
    """One `[[hooks]]` table of the settings."""

    @property
    def id(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def tools(self) -> tuple[str, ...]: ...
    @property
    def command(self) -> tuple[str, ...]: ...
    @property
    def url(self) -> str: ...
    @property
    def secret_env(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def timeout_seconds(self) -> float: ...
    @property
    def env(self) -> tuple[str, ...]: ...


HookBuilder = Callable[[HookTable, HookEvent, Path, Mapping[str, str], "Callable[[], Client]"], Hook]


def build_hooks(
    settings: Iterable[HookTable], root: Path, env: Mapping[str, str], client: Callable[[], Client]
) -> tuple[Hook, ...]:
    """Builds the hooks of a workspace in the order they are written; `client` is called by those that speak HTTP.

    Raises SettingsError for one that could never work.
    """
    makers: Registry[HookBuilder] = Registry("kind of hook", HOOKS)
    return tuple(makers.get(each.kind)(each, event, root, env, client) for each, event in check_hooks(settings))


def check_hooks(settings: Iterable[HookTable]) -> list[tuple[HookTable, HookEvent]]:
    """Returns each hook with its event; opens nothing. Raises SettingsError for one that could never work."""
    hooks: list[tuple[HookTable, HookEvent]] = []
    seen: set[tuple[str, str]] = set()
    for each in settings:
        event = _check_hook(each)
        if (each.id, event) in seen:
            raise SettingsError(f"two hooks are called {each.id!r} at {event}; rename one of them")
        seen.add((each.id, event))
        hooks.append((each, event))
    return hooks


def _check_hook(each: HookTable) -> HookEvent:
    if not each.id.strip() or not each.id.isprintable():
        raise SettingsError("a hook has no printable name; give it an id, which every record repeats")
    if each.event not in HOOK_EVENTS:
        hint = nearest(each.event, HOOK_EVENTS) or f"known: {', '.join(HOOK_EVENTS)}"
        raise SettingsError(f"the hook {each.id!r} waits for {each.event!r}, which never comes; {hint}")
    if not each.tools:
        raise SettingsError(f"the hook {each.id!r} would see no tool; leave out `tools` for all of them")
    _check_keys(each)
    return each.event


def _check_keys(each: HookTable) -> None:
    """Raises SettingsError for a missing key, or a key of another kind, which would silently do nothing."""
    needed = _REQUIRED_KEY.get(each.kind)
    if needed is not None and not getattr(each, needed):
        raise SettingsError(f"the hook {each.id!r} is of kind {each.kind!r}; say `{needed}` too")
    understood = (needed, *_OPTIONAL_KEYS.get(each.kind, ()))
    for key in ("command", "url", "function", "env", "secret_env"):
        if key not in understood and getattr(each, key):
            raise SettingsError(f"the hook {each.id!r} is of kind {each.kind!r}; leave out `{key}`")
