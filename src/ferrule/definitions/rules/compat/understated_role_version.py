"""AML-99: a role whose version does not show how its grants changed."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import CompatFinding, CompatRule
from ferrule.definitions.rules.compat.versions import VERSION, bump_version
from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import DENY, references
from ferrule.model.outline import RoleOutline
from ferrule.model.semver import Bump, bump_between, parse_version
from ferrule.model.value import JsonObject

_KINDS = ("tools", "knowledge_bases", "collections")
Grant = tuple[str, str]


class UnderstatedRoleVersion(CompatRule):
    """A role's version says what happened to its grants: patch for text, minor for grants added, major for grants removed.

    Why:  agents lose rights when a grant goes, so whoever depends on the role must see it coming. A grant turned to `deny`
          counts as removed.
    Bad:  a tool taken out of `tools`, version 1.1.0 to 1.2.0
    Good: the same change with version 2.0.0
    """

    code = "AML-99"
    name = "understated-role-version"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields one finding per role that is on both sides and whose version was raised too little."""
        for iam_id, new in comparison.candidate.roles.items():
            old = comparison.published.roles.get(iam_id)
            if old is not None and old.value != new.value:
                yield from self._check_role(old, new)

    def _check_role(self, old: RoleOutline, new: RoleOutline) -> Iterator[CompatFinding]:
        before, after = parse_version(old.value.get("version")), parse_version(new.value.get("version"))
        if before is None or after is None:
            return
        removed, added = (
            _collect_grants(old.value) - _collect_grants(new.value),
            _collect_grants(new.value) - _collect_grants(old.value),
        )
        needed = Bump.MAJOR if removed else Bump.MINOR if added else Bump.PATCH
        made = bump_between(before, after)
        if made >= needed:
            return
        names = ", ".join(sorted(name for _, name in removed or added)[:3])
        what = "removes grants" if removed else "adds grants" if added else "changes"
        message = f"the role {new.iam_id!r} {what}{f' ({names})' if names else ''} without a {needed.word} version"
        hint = f"after {old.value['version']} comes {bump_version(old.value['version'], needed)}"
        yield CompatFinding(new, Finding(self.code, VERSION, message, hint=hint))


def _collect_grants(role: JsonObject) -> set[Grant]:
    granted: set[Grant] = set()
    for kind in _KINDS:
        entries = references(role, kind).entries
        denied = {entry.ref for entry in entries if entry.entry.get("access") == DENY}
        granted |= {(kind, entry.ref) for entry in entries if entry.ref not in denied}
    return granted
