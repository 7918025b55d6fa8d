"""Skills that the agent cannot read or choose."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.builtin_tool import SETTINGS
from ferrule.definitions.rules.adl.tool_items import TOOLS, list_tools
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import MISSING

_SKILLS = ("spec", "skills")
_SWITCH = (*SETTINGS, "read", "enabled")


class UnsupportedSkill(Rule):
    """Skills have the form the language gives them; an agent with skills lists and enables the built-in `read`, and a
    bare skill says its `name` and `description`.

    Why: the agent loads a skill's playbook with `read`, and chooses the skill by its name and description.
    Bad:  skills: [{id: triage, bare: true}]
    Good: skills: [{id: triage, bare: true, name: triage, description: Use this when an alert fires}]
    """

    code = "ADL-38"
    name = "unsupported-skill"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields the missing reader once, and the missing words of each bare skill."""
        skills = subject.get(*_SKILLS)
        if not isinstance(skills, list) or not skills:
            return
        if subject.get("spec", "agent") is not MISSING and (lack := _why_unreadable(subject)):
            yield Finding(self.code, _SKILLS, lack[0], self.severity, lack[1])
        for index, skill in enumerate(skills):
            if isinstance(skill, dict) and skill.get("bare") is True:
                for field in ("name", "description"):
                    if field not in skill or skill[field] == "":
                        message = f"a bare skill needs a `{field}`"
                        hint = "the playbook is written from scratch, so nothing else says it"
                        yield Finding(self.code, (*_SKILLS, index, field), message, hint=hint)


def _why_unreadable(subject: Subject) -> tuple[str, str] | None:
    """Returns the reason why the playbooks cannot be read, and a hint; None when they can, or an error hides it."""
    is_listed = any(tool.id == "read" for tool in list_tools(subject))
    if not is_listed and not subject.is_reported(TOOLS):
        return "skills need the built-in tool `read`, which `spec.tools` does not list", "add `- id: read` to it"
    if subject.get(*_SWITCH) is not True and not subject.is_reported(_SWITCH):
        return (
            "skills need the built-in tool `read`, which is not enabled",
            "set `spec.config.tools.read.enabled: true`",
        )
    return None
