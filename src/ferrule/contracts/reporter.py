"""The contract of a reporter: turn the outcome of a check into text of one format. It never prints or opens a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from ferrule.contracts.rule import RuleInfo
from ferrule.model.diagnostic import Report


class ReportContext(NamedTuple):
    """The facts a reporter may need besides the report. Costly things are callables, so that they are only computed when
    needed."""

    text_of: Callable[[str], str | None]
    """The text of a file named in a diagnostic; None when it cannot be read."""
    pages: Callable[[], tuple[RuleInfo, ...]]
    """Every rule's page."""
    page_address: Callable[[str], str]
    """The address of a rule's documentation page."""
    version: str
    """Ferrule's own version."""
    is_strict: bool = False
    """True when warnings fail the check."""
    has_colour: bool = False
    """True when the text goes to a terminal that shows colours."""
    width: int = 100
    """Columns a source line may take; longer ones are cut around the caret."""


class Reporter(Protocol):
    """One output format."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields the report as pieces of text, in order."""
        ...
