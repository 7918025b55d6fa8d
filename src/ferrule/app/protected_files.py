"""The files of a workspace that its tools may not touch, or not change: they decide what runs here, and hold the record."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.runtime.policy.load import list_locations, read_project
from ferrule.settings import Settings
from ferrule.workspace.workspace import Workspace


def list_protected_files(workspace: Workspace, env: Mapping[str, str]) -> list[Path]:
    """Returns the files that no tool may touch: the workspace's records, its rules, and the code that its settings name."""
    settings, root = workspace.settings, workspace.root
    ledger_file = root / settings.ledger.path
    named = [ledger_file, *(ledger_file.with_name(ledger_file.name + end) for end in ("-wal", "-shm"))]
    named += [
        root / LOCK_FILE,
        root / settings.results.path,
        *([root / settings.secrets.env_file] if settings.secrets.env_file else ()),
        *(root / Path(file).expanduser() for file in _list_tls_files(settings)),
        *(
            file
            for name in (*settings.functions.modules, *_list_function_modules(settings))
            for file in _list_code_files(root, name)
        ),
        *(root / path for path in settings.functions.paths if _is_below(root / path, root)),
    ]
    with suppress(SettingsError):  # a policy that cannot be read refuses every call anyway
        choices = read_project(root, settings.policy).choices
        named += [home.path for home in list_locations(root, choices, env)]
        named += [root / name for name in (choices.shadow, choices.cedar) if name]
    words = [word for hook in settings.hooks for word in hook.command]
    words += [word for guardrail in settings.guardrails for word in guardrail.command]
    words += [word for server in settings.mcp.servers.values() for word in server.command]
    scripts = [root / word for word in words if (root / word).is_file()]
    # The folder too: a script imports modules that lie beside it.
    return named + scripts + [script.parent for script in scripts if _is_below(script.parent, root)]


def list_fixed_files(workspace: Workspace) -> list[Path]:
    """Returns the files that tools may only read: the definitions, and modules this process imported from the workspace."""
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    code = [Path(file) for file in loaded if file and _is_below(Path(file), workspace.root)]
    return [Path(task.path) for task in workspace.select().everything] + code


def _list_tls_files(settings: Settings) -> list[str]:
    """Returns the files of authorities, client certificates and their keys."""
    said = settings.network
    named = [said.ca, *(file for host in said.tls.values() for file in (host.ca, host.certificate, host.key))]
    return [file for file in named if file]


def _list_function_modules(settings: Settings) -> list[str]:
    """Returns the modules of hooks, guardrails, sinks and bound functions."""
    named = [hook.function for hook in settings.hooks] + [guardrail.function for guardrail in settings.guardrails]
    named += [sink.function or "" for sink in settings.sinks]
    named += settings.functions.bind.values()
    return [reference.rpartition(":")[0] for reference in named if reference]


def _list_code_files(root: Path, name: str) -> list[Path]:
    """Returns the file of a module in the workspace, and the folder of its compiled form."""
    file = root / (name if name.endswith(".py") else f"{name.replace('.', '/')}.py")
    # Python runs what it finds compiled, so a tool that may write there may change the code.
    return [file, file.parent / "__pycache__"] if name.endswith(".py") or file.is_file() else []


def _is_below(path: Path, root: Path) -> bool:
    """True for a path in the workspace, and False for the workspace itself."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))
