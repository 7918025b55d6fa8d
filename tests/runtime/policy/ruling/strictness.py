"""How strict each answer of a policy is."""

from __future__ import annotations

from ferrule.model.decision import Behavior

STRICTNESS: dict[Behavior, int] = {"allow": 0, "passthrough": 0, "ask": 1, "deny": 2}
