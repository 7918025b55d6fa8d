"""The source of an app's policy: where it is read, when it changed, and how a suggested rule is added to it.

`WorkspacePolicy` reads the files of a workspace, of its user and of its machine. Tests bring a source of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.store import Store
from ferrule.errors import SettingsError
from ferrule.infra.clock import Clock
from ferrule.model.approval import Identity
from ferrule.model.timestamps import iso
from ferrule.runtime.approval.inbox import Accept
from ferrule.runtime.policy.accept import accept_suggestion
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.load import LOCAL_FILE, list_locations, load_policy, read_project
from ferrule.settings import FILE_NAME, load_settings


class PolicyProvider(Protocol):
    """Gives an app its policy."""

    def load(self, classifiers: Mapping[str, Classifier]) -> PolicyEngine:
        """Reads the policy as it is written now. Raises PolicyError."""
        ...

    def state(self) -> object:
        """Returns something that is different once the policy may have changed."""
        ...

    def acceptor(self, identity: Identity, store: Store, clock: Clock) -> Accept:
        """Returns the function that adds a suggested rule to the policy, in the name of the person who accepts it."""
        ...


class WorkspacePolicy:
    """The files of the policy of a workspace, and the rules that this process brings."""

    def __init__(self, root: Path, environment: Mapping[str, str], rules: Sequence[Mapping[str, Any]] = ()) -> None:
        self._root = root
        self._environment = environment
        self._rules = rules

    def load(self, classifiers: Mapping[str, Classifier]) -> PolicyEngine:
        """Reads the settings and every file of the policy. Raises PolicyError or SettingsError."""
        settings = load_settings(self._root)
        policy = load_policy(
            self._root,
            settings.policy,
            self._environment,
            extra={"command": self._rules} if self._rules else None,
            expires_seconds=settings.approval.expires_seconds,
        )
        return make_engine(policy, classifiers)

    def state(self) -> object:
        """Returns the stamps of all files; the message of the error while the settings cannot be read."""
        try:
            choices = read_project(self._root, load_settings(self._root).policy).choices
        except SettingsError as error:
            return str(error)
        files = [
            self._root / FILE_NAME,
            *(home.path for home in list_locations(self._root, choices, self._environment)),
        ]
        named = [self._root / name for name in (choices.shadow, choices.cedar) if name]
        return tuple(stat_stamp(file) for file in (*files, *named))

    def acceptor(self, identity: Identity, store: Store, clock: Clock) -> Accept:
        """Returns the function that writes accepted rules into this machine's file of rules."""

        async def accept(update: dict[str, object]) -> None:
            accept_suggestion(self._root / LOCAL_FILE, update, identity.principal, iso(clock.now()))
            store.bump()

        return accept


def stat_stamp(file: Path) -> tuple[int, int, int] | None:
    """Returns a value that changes when a file does; None while there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
