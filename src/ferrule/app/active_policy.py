"""The policy in force: loaded from its source, loaded again when the source changed. Without a usable one, calls are denied."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from ferrule.app.change_log import ChangeLog
from ferrule.app.policy_source import PolicyProvider
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.errors import FerruleError
from ferrule.runtime.policy.load import RefusingPolicy

_log = logging.getLogger("ferrule.app")


class ActivePolicy:
    """The policy of one app, as calls are judged by it now."""

    def __init__(
        self, source: PolicyProvider, classifiers: Mapping[str, Classifier], root: Path, changes: ChangeLog
    ) -> None:
        self.engine: PolicyEngine = RefusingPolicy("the policy is not loaded yet")
        self._source = source
        self._classifiers = classifiers
        self._root = root
        self._changes = changes
        self._state: object = None
        self._recorded_digest = ""

    async def open(self) -> bool:
        """Loads the policy for the first time; see `load`."""
        self._recorded_digest = await self._changes.last_digest("policy")
        return self.load()

    def has_source_changed(self) -> bool:
        """True when the source differs from what was loaded."""
        return self._source.state() != self._state

    def load(self) -> bool:
        """Loads the policy from its source; True when another one is in force now. An unusable policy denies every call."""
        # Before the first load the engine refuses as well, and that is nothing to tell.
        was_refused = self._state is not None and isinstance(self.engine, RefusingPolicy)
        # Taken before the files are read: a change in between is seen as one more change, and not missed.
        self._state = self._source.state()
        before = self.engine.digest
        try:
            self.engine = self._source.load(self._classifiers)
            if was_refused:
                _log.warning("the policy can be used again")
        except FerruleError as error:
            _log.error("the policy cannot be used, so every call is refused: %s", error)
            # Callers read the reason, and need not learn where the files are on this machine.
            self.engine = RefusingPolicy(str(error).replace(os.path.join(self._root.absolute(), ""), ""))
        if self.engine.digest != self._recorded_digest:
            self._recorded_digest = self.engine.digest
            self._changes.record_policy(self.engine.digest, self.engine.text)
        return self.engine.digest != before
