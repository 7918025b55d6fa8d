"""The contract of a rule: a row of a table, or a class with a `check`. Rules name paths and never lines.

A compatibility rule judges a comparison of the published state with the candidate. `definitions/rules` holds the rules
and `definitions/compiler` runs them; neither is known here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.document import Document
from ferrule.model.outline import AgentOutline, Library, RecordOutline, RoleOutline, ToolOutline
from ferrule.model.value import MISSING, JsonValue, Missing, Path, dig


class RuleInfo(msgspec.Struct, frozen=True):
    """A rule's identity and page: printed by `ferrule rule CODE`; the reference is generated from it."""

    code: str
    """The requirement id of the standard's digest: `AML-9`."""
    name: str
    """Named for the problem: `malformed-tool-id`."""
    severity: Severity
    """The usual severity; a finding may be milder or worse where the standard says so."""
    summary: str
    """One sentence: what is required."""
    details: str = ""
    """Why, a bad and a good example."""
    since: str = "0.1"


class RuleSettings(msgspec.Struct, frozen=True):
    """The settings rules may depend on besides the definition: rules read no clock and no environment."""

    today: str
    """ISO date for rules about age."""
    approved_versions: tuple[str, ...] = ("1.2",)
    """AML `spec_version` values this platform accepts (AML-8)."""
    compat: bool = False
    """Accept later OXP drafts with a warning (OXP-49)."""
    namespace: str = "default"
    """Namespace of AML tools."""


class Subject:
    """One definition as its rules see it: the value, and which parts of it are reported already.

    Paths are relative to the definition. A check that needs a value already reported as an error must not be evaluated,
    so rules read through `get`, which returns MISSING for such a value.
    """

    __slots__ = ("_errors", "base", "document", "findings", "kind", "memo", "settings", "value")

    def __init__(
        self, kind: str, document: Document, value: dict[str, JsonValue], settings: RuleSettings, base: Path = ()
    ) -> None:
        self.kind = kind
        """Such as `aml.tool`."""
        self.document = document
        self.value = value
        self.settings = settings
        self.base = base
        """Where the definition sits in its document; () for the root."""
        self.findings: list[Finding] = []
        self.memo: dict[str, object] = {}
        """Results that one rule computed and later ones can reuse, by the name of the rule family."""
        self._errors: set[Path] = set()

    def report(self, finding: Finding) -> None:
        """Adds a finding. Error paths become unsound for later checks."""
        self.findings.append(finding)
        if finding.severity is Severity.ERROR:
            self._errors.add(finding.path)

    def get(self, *path: str | int) -> JsonValue | Missing:
        """Returns the value at a path, or MISSING when it is absent or it, or something around it, is reported as an
        error."""
        if self._errors and self.is_reported(path):
            return MISSING
        return dig(self.value, path)

    @property
    def has_errors(self) -> bool:
        """True when any error was reported so far."""
        return bool(self._errors)

    def is_reported(self, path: Path) -> bool:
        """Returns True when an error was reported at this path or at something that contains it."""
        # From length 0 on: an error at the root concerns everything below it.
        errors = self._errors
        return bool(errors) and any(path[:length] in errors for length in range(len(path) + 1))

    def has_error_below(self, path: Path) -> bool:
        """Returns True when an error was reported at this path or anywhere inside it."""
        length = len(path)
        return any(error[:length] == path for error in self._errors)


Expectation = Callable[[JsonValue], "str | None"]
"""A function from a present value to what is wrong with it ("must be a string"), or None."""


class Row(msgspec.Struct, frozen=True):
    """One structural rule: the expectation at one path. Rows of a path are tried in order; the first failure is
    reported and nothing below it is checked."""

    path: str
    """Dotted; `[]` stands for every list item, `*` for every key: `spec.tools[].id`, `spec.services.*.type`."""
    expect: Expectation | Required | Closed
    rule: str
    severity: Severity = Severity.ERROR
    hint: str | None = None
    when: tuple[str, frozenset[str]] | None = None
    """Look only when the value at this path is one of these words: `("transport.type", frozenset({"lambda"}))`."""
    hints: dict[str, str] = {}
    """Hints for particular wrong words, in place of `hint`."""


class Required(msgspec.Struct, frozen=True):
    """The key must be written. Null (and, unless `blank_ok`, an empty string) counts as missing and is reported at the key."""

    deep: bool = False
    """Report it also when the enclosing mapping is missing as a whole."""
    blank_ok: bool = False
    null_ok: bool = False
    describe: str = "required"


class Closed(msgspec.Struct, frozen=True):
    """A mapping that takes no other keys than these; each unknown key is reported at itself, with the nearest known name."""

    keys: frozenset[str]
    hints: dict[str, str] = {}
    """Hints for particular unknown keys."""
    elsewhere: frozenset[str] = frozenset()
    """Keys that another rule covers: not reported here, and never suggested."""
    extensions: str = ""
    """The prefix of keys that belong to other tools, not to the standard: not reported. Empty: there are none."""
    own: frozenset[str] = frozenset()
    """Extensions that Ferrule knows: a near misspelling of one is reported, because it would have no effect."""


class Rule(Protocol):
    """A rule that needs code. Its docstring is its page: a sentence, then `Why:`, `Bad:` and `Good:`."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterable[Finding]:
        """Returns every defect of this kind in the definition, with paths relative to it."""
        ...


class LibraryFinding(NamedTuple):
    """A cross-file finding and the definition it is about."""

    outline: ToolOutline | AgentOutline | RoleOutline | RecordOutline
    finding: Finding


class LibraryRule(Protocol):
    """A rule about several files at once. Reported on the referencing file, at the reference."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str] = "0.1"

    def check(self, library: Library, settings: RuleSettings) -> Iterable[LibraryFinding]:
        """Returns every defect of this kind among all the definitions."""
        ...


class RuleSet(NamedTuple):
    """The rules for one kind of definition: rows first, then classes in order."""

    rows: tuple[Row, ...]
    rules: tuple[Rule, ...]


def info_of(rule: Any) -> RuleInfo:
    """Builds the page of a rule, given as class or instance, from its attributes and docstring."""
    doc = inspect.cleandoc(rule.__doc__ or "")
    summary, _, details = doc.partition("\n\n")
    return RuleInfo(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        summary=" ".join(summary.split()),
        details=details,
        since=rule.since,
    )


class CompatFinding(NamedTuple):
    """A finding about two states, and the definition it is about."""

    outline: ToolOutline | AgentOutline | RoleOutline
    finding: Finding
    on_published: bool = False
    """True when the place is in the published files: something they refer to was removed."""


class CompatRule(Protocol):
    """A rule about two states of a workspace."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str] = "0.1"

    def check(self, comparison: Comparison) -> Iterable[CompatFinding]:
        """Returns every defect of this kind in the candidate, given the published state."""
        ...
