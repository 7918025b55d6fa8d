"""Permission: what a policy rules, and the record of one decision (AT-125 to AT-143). Pure data.

`runtime/policy` makes rulings, the pipeline records decisions; neither is known here.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.value import JsonObject

Behavior = Literal["allow", "ask", "deny", "passthrough"]
ReasonType = Literal[
    "rule",
    "mode",
    "policy",
    "hook",
    "classifier",
    "working_dir",
    "sandbox_override",
    "safety_check",
    "permission_prompt_tool",
    "async_agent",
    "subcommand_results",
    "other",
]
RuleSource = Literal[
    "policy_settings",
    "project_settings",
    "local_settings",
    "user_settings",
    "flag_settings",
    "cli_arg",
    "command",
    "session",
]
RULE_SOURCES: tuple[RuleSource, ...] = get_args(RuleSource)
"""The eight places rules come from. Deny beats ask beats allow across all; `policy_settings` cannot be weakened (AT-135)."""

Risk = Literal["low", "medium", "high", "critical"]
RISKS: tuple[Risk, ...] = get_args(Risk)

CLIENT_CHANNEL = "client"
"""The reply channel of a tool that asks the client which called it."""
DEFAULT_EXPIRY_SECONDS = 24 * 3600


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """The people or channels that may answer an `ask`, and how long the request is open."""

    approvers: tuple[str, ...] = ()
    """People, or groups as `group:finance`; empty means anybody with the approve scope."""
    people: int = 1
    """How many different people must say yes."""
    not_requester: bool = False
    """True when the principal the call is made for may not approve it."""
    channels: tuple[str, ...] = ()
    """Calling channels that may carry the answer although they made the call (elicitation)."""
    expires_seconds: int = DEFAULT_EXPIRY_SECONDS
    reply_channel: str = ""
    """Of a tool that waits: the channel outside by which an answer may come, besides the inbox."""
    is_reply_only: bool = False
    """True when nobody but that channel may answer: a reply queue, where no person is asked."""
    remind_seconds: int = 0
    """Of a tool that waits: after how long without an answer people are reminded; 0 for never."""


class ClassifierNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A classifier's contribution (AT-137)."""

    classifier_ref: str
    behavior: Behavior
    confidence: float
    reason: str
    authority: Literal["approve", "deny", "decide", "recommend"]
    """The power of its judgement alone: approve, deny, do both, or neither (AT-138)."""


class Shadow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ruling of another policy that is not in force."""

    policy_ref: str
    behavior: Behavior
    rule_refs: tuple[str, ...] = ()
    message: str = ""


class Ruling(msgspec.Struct, frozen=True, omit_defaults=True):
    """The policy's ruling on one call. A ruling that no argument can change is made once and shared."""

    behavior: Behavior
    message: str
    """Why, for people: names the rule or the mode, and what would change the answer."""
    reason_type: ReasonType = "rule"
    source: RuleSource | None = None
    """Where the deciding rule was written."""
    rule_refs: tuple[str, ...] = ()
    """Ids of every rule that matched, the deciding one first."""
    mode: str = "default"
    policy_refs: tuple[str, ...] = ()
    """The policies that were asked, each by name and digest."""
    requirement: Requirement = Requirement()
    """Who may answer, when the behavior is `ask`."""
    suggested_updates: tuple[dict[str, Any], ...] = ()
    """Rule changes that would settle the question for next time; they change nothing until their owner accepts (AT-136)."""
    blocked_path: str | None = None
    classifiers: tuple[ClassifierNote, ...] = ()
    shadow: Shadow | None = None
    is_policy_block: bool = False
    """True for a refusal that is not about permission (a limit, a switch): class `policy_blocked`, not `permission_denied`."""
    authoritative_hooks: dict[str, str] = {}
    """Hooks whose allow settles this ask, each with the policy that says so (AT-153)."""


class Decision(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One recorded decision about one invocation. An answered ask has two: the ask, and the answer (AT-131)."""

    ruling: Ruling
    decided_at: int
    """Microseconds since 1970."""
    by: str | None = None
    """The person who answered; None when the policy decided."""
    user_modified: bool = False
    """True when that person edited the input."""
    expires_at: int | None = None
    """When an allow ends, or an ask expires."""
    feedback: str | None = None

    def to_record(self, invocation_id: str, number: int) -> JsonObject:
        """Returns the standard's `tool_permission_decision` record."""
        ruling = self.ruling
        reason: dict[str, Any] = {"type": ruling.reason_type, "message": ruling.message}
        if ruling.rule_refs:
            reason["rule_ref"] = ruling.rule_refs[0]
        record: dict[str, Any] = {
            "schema_version": "0.2.0",
            "decision_id": decision_id(invocation_id, number),
            "invocation_id": invocation_id,
            "behavior": ruling.behavior,
            "decided_at": iso(self.decided_at),
            "mode": ruling.mode,
            "reason": reason,
        }
        optional = {
            "source": ruling.source or ("user" if self.by else None),
            "rule_refs": list(ruling.rule_refs),
            "policy_refs": list(ruling.policy_refs),
            "user_modified": self.user_modified,
            "suggested_updates": list(ruling.suggested_updates),
            "blocked_path": ruling.blocked_path,
            "accept_feedback": self.feedback,
            "expires_at": iso(self.expires_at) if self.expires_at is not None else None,
            "decided_by": self.by,
            "classifiers": msgspec.to_builtins(ruling.classifiers),
            "shadow": msgspec.to_builtins(ruling.shadow),
        }
        record.update((key, value) for key, value in optional.items() if value)
        return record


def decision_id(invocation_id: str, number: int) -> str:
    """Returns the id of an invocation's nth decision, counted from 0."""
    return f"{invocation_id.replace('inv_', 'dec_', 1)}.{number}"


def expiry(requirement: Requirement, now: int) -> int:
    """Returns when an ask made now expires."""
    return now + requirement.expires_seconds * MICROSECONDS
