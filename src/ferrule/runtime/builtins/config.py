"""Settings of each built-in tool, and what all of them share: one workspace, and the files that no tool ever touches.

Settings are `spec.config.tools.<id>` of the agent file, over which the environment wins (ADL-22):
`TOOLS_READ_MAX_LINES=100` sets one of them; lists are separated by commas; an empty variable counts as not set.
An invalid setting turns the tool off, with a message that says what to fix; nothing is guessed. `executor.py` loads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.builtin_tools import BUILTIN_TOOLS, ConfigType
from ferrule.model.misfits import describe_complaint
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.threads import Threads

if TYPE_CHECKING:
    from ferrule.infra.network.client import Client

_YES = frozenset({"1", "t", "true", "y", "yes", "on"})
_NO = frozenset({"0", "f", "false", "n", "no", "off"})
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,15}")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_KILL_SWITCH = "A2A_{}_DISABLED"


class BuiltinConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of every built-in tool. Numbers below 1 mean the default."""

    enabled: bool = False


class ReadConfig(BuiltinConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`spec.config.tools.read`"""

    max_lines: int = 2000
    """How many lines a call gets without `limit`."""
    allowed_roots: tuple[str, ...] = ()
    """Folders, relative to the workspace; empty means the workspace itself."""


class WriteConfig(BuiltinConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`spec.config.tools.write`"""

    allowed_roots: tuple[str, ...] = ()


class EditConfig(BuiltinConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`spec.config.tools.edit`"""

    allowed_roots: tuple[str, ...] = ()


class BashConfig(BuiltinConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`spec.config.tools.bash`"""

    whitelist: tuple[str, ...] = ()
    timeout_seconds: int = 30
    working_dir: str = ""


class FetchConfig(BuiltinConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`spec.config.tools.fetch`"""

    allowed_domains: tuple[str, ...] = ()
    """Hosts; `.example.com` means it and all its subdomains. Empty means every public host."""
    max_bytes: int = 10 * 1024**2
    timeout_seconds: int = 30
    download_dir: str = ""
    """Empty means the system's folder for temporary files."""
    allow_downloads: bool = False


CONFIGS: dict[str, type[BuiltinConfig]] = {
    "read": ReadConfig,
    "write": WriteConfig,
    "edit": EditConfig,
    "bash": BashConfig,
    "fetch": FetchConfig,
}


def load_config(builtin_id: str, stated: object, environment: Mapping[str, str]) -> BuiltinConfig:
    """Loads a tool's settings: environment over agent file over default.

    Raises ExecutionFailed: `capability_gap` when the tool is not enabled, `setup_required` for an invalid setting.
    """
    where = f"spec.config.tools.{builtin_id}"
    if not isinstance(stated, dict):
        raise _bad_setting(f"{where} must be a mapping")
    values = {name: _resolve_placeholders(value, f"{where}.{name}", environment) for name, value in stated.items()}
    values |= _overrides(builtin_id, environment)
    kind = CONFIGS[builtin_id]
    for name, value in tuple(values.items()):
        # The exact type: False is an int, too.
        if type(value) is int and value <= 0:
            del values[name]
    try:
        config = msgspec.convert(values, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _bad_setting(f"{where}: {describe_complaint(error)}") from None
    for name, value in values.items():
        if isinstance(value, list) and not all(item.strip() and item.isprintable() for item in value):
            raise _bad_setting(f"{where}.{name} has an entry that says nothing, or with characters nobody can see")
    _refuse_disabled(builtin_id, config, environment)
    return config


def _refuse_disabled(builtin_id: str, config: BuiltinConfig, environment: Mapping[str, str]) -> None:
    setting = f"spec.config.tools.{builtin_id}.enabled: true"
    switch = _KILL_SWITCH.format(builtin_id.upper())
    if environment.get(switch, "").strip() and _boolean(switch, environment[switch]):
        raise _disabled(
            f"the built-in tool {builtin_id!r} is switched off by {switch} in the environment; unset it there"
        )
    if config.enabled:
        return
    variable = _variable(builtin_id, "enabled")
    if environment.get(variable, "").strip():
        raise _disabled(
            f"the built-in tool {builtin_id!r} is switched off by {variable} in the environment;"
            f" unset it there, and have {setting} in the agent file"
        )
    raise _disabled(f"the built-in tool {builtin_id!r} is not enabled; set {setting} in the agent file")


def _overrides(builtin_id: str, environment: Mapping[str, str]) -> JsonObject:
    found: JsonObject = {}
    for field, kind in BUILTIN_TOOLS[builtin_id].config.items():
        variable = _variable(builtin_id, field)
        text = environment.get(variable, "").strip()
        if text:
            found[field] = _from_text(variable, text, kind)
    return found


def _variable(builtin_id: str, field: str) -> str:
    return f"TOOLS_{builtin_id}_{field}".upper()


def _from_text(variable: str, text: str, kind: ConfigType) -> object:
    if kind == "boolean":
        return _boolean(variable, text)
    if kind == "integer":
        if not _WHOLE_NUMBER.fullmatch(text):
            raise _bad_setting(f"the environment variable {variable} must be a whole number")
        return int(text)
    if kind == "strings":
        entries = [entry for part in text.split(",") if (entry := part.strip())]
        if not entries:
            raise _bad_setting(
                f"the environment variable {variable} has no entry; unset it, or list some, separated by commas"
            )
        return entries
    return text


def _boolean(variable: str, text: str) -> bool:
    word = text.strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise _bad_setting(f"the environment variable {variable} must be true or false")


def _resolve_placeholders(value: object, where: str, environment: Mapping[str, str]) -> object:
    """Replaces `${VAR}` and `${VAR:-default}` in a setting, once: placeholders in a variable's value stay as they are."""
    if isinstance(value, list):
        return [_resolve_placeholders(item, where, environment) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    def put_in(found: re.Match[str]) -> str:
        named = _VARIABLE.fullmatch(found[1])
        if named is None:
            raise _bad_setting(f"{where} has a placeholder that cannot be read; write ${{NAME}} or ${{NAME:-default}}")
        held = environment.get(named[1], "")
        if held:
            return held
        if named[2] is None:
            raise _bad_setting(f"{where} needs the environment variable {named[1]}, which is not set")
        return named[2]

    return _PLACEHOLDER.sub(put_in, value)


def _bad_setting(message: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", f"{message}; the tool stays off until that is mended")


def _disabled(message: str) -> ExecutionFailed:
    return ExecutionFailed("capability_gap", message, code="feature_disabled")


ALWAYS_PROTECTED = (".ferrule", "ferrule.toml", "ferrule.pub", "policy.toml")
"""Keys, ledger, payloads, settings, trusted keys and policy: a tool that could write them could grant itself anything."""


class BuiltinServices(msgspec.Struct, frozen=True, kw_only=True):
    """All that built-in tools share besides their own settings."""

    root: Path
    """The workspace folder, to which paths in settings are relative."""
    environment: Mapping[str, str]
    threads: Threads
    """Threads for blocking work."""
    client: Callable[[], Client]
    """Returns the guarded HTTP client, for a tool that needs it."""
    protected: tuple[Path, ...] = ()
    """Absolute paths of files and folders that no built-in tool reads or writes."""
    fixed: Callable[[], frozenset[str]] = frozenset
    """Returns the real paths of files that a built-in tool may read but not change: definitions, and code of this process."""
    sandbox: Literal["required", "preferred", "off"] = "required"
    """`[builtins] sandbox`: whether commands run in one."""
    max_output_bytes: int = 64 * 1024**2
    """`[builtins] max_output_bytes`: the most that one command may write to its output."""
    max_result_chars: int = 50_000
    """`[results] max_inline_chars`: the most that a result may hold without being stored."""
