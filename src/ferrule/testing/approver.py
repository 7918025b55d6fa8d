"""A person who answers by a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ferrule.app.app import App
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.result import Pending, Result
from ferrule.runtime.approval.waiting import Waiting

Verdict = bool | Mapping[str, Any] | str
"""True: yes. False: no. A mapping: yes, with this input instead. A text: no, for this reason."""


class ScriptedApprover:
    """Answers what waits in an app's inbox. `script`: one verdict for all, or a function of the waiting item."""

    def __init__(
        self,
        app: App,
        script: Verdict | Callable[[Waiting], Verdict | None] = True,
        *,
        name: str = "approver",
        groups: tuple[str, ...] = (),
        scopes: tuple[str, ...] = (APPROVE, ADMIN),
    ) -> None:
        identity = Identity(name, f"test:{name}", frozenset(scopes), frozenset(groups))
        self.inbox = app.inbox(identity)
        self._script = script

    async def work(self) -> list[Result | Pending | None]:
        """Answer everything that waits now; gives what became of each. A verdict of None leaves an item waiting."""
        outcomes: list[Result | Pending | None] = []
        for item in await self.inbox.pending():
            verdict = self._script(item) if callable(self._script) else self._script
            if verdict is not None:
                outcomes.append(await self._answer(item.request.invocation_id, verdict))
        return outcomes

    async def _answer(self, call: str, verdict: Verdict) -> Result | Pending | None:
        if verdict is True:
            return (await self.inbox.approve(call)).result
        if isinstance(verdict, Mapping):
            return (await self.inbox.approve(call, edited_input=msgspec.json.encode(verdict))).result
        return await self.inbox.reject(call, reason=verdict if isinstance(verdict, str) else "the script says no")
