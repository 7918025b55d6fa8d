"""The policy of a workspace whose policy cannot be used: no, to everything, and why."""

from __future__ import annotations

import hashlib

from ferrule.contracts.policy import Judged
from ferrule.model.decision import Ruling
from ferrule.model.surface import SurfaceEntry, SurfaceRequest


class RefusingPolicy:
    """Denies every call, and names the mistake that has to be mended first."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.text = f"# nothing is allowed: {why}\n"
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()
        message = f"the policy cannot be used, so nothing is allowed until it is mended: {why}"
        self._ruling = Ruling("deny", message, "safety_check", is_policy_block=True)

    def program(self, entry: SurfaceEntry, request: SurfaceRequest) -> _Refusal:
        """A program that says no."""
        return _Refusal(self._ruling)

    def groups_of(self, person: str) -> frozenset[str]:
        """None: a policy that cannot be used says nothing about anybody."""
        return frozenset()

    def surface_ruling(self, entry: SurfaceEntry, request: SurfaceRequest) -> Ruling | None:
        """Tools stay visible, so that their calls are refused with the reason."""
        return None


class _Refusal:
    def __init__(self, ruling: Ruling) -> None:
        self.fixed: Ruling | None = ruling
        self.denies_statically: Ruling | None = ruling

    def decide(self, judged: Judged) -> Ruling:
        assert self.fixed is not None
        return self.fixed

    def early_deny(self, judged: Judged) -> Ruling | None:
        return self.fixed
