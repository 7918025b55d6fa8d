"""Descriptions too short to choose a tool by, or too long to read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity

_LEAST, _MOST = 2, 5
_END = re.compile(r"""[.!?]+["'”’“‘»«›‹)\]}]*(?=\s|\Z)""")  # some languages close with what others open with
_OPENING = re.compile(r"""\s*["'“‘”’„‚«»‹›(\[{]*""")
_SAY_MORE = "say what the tool does, and when to use it or not"
_SAY_LESS = "keep what helps to choose the tool; the rest can go into the text below the front matter"
_ABBREVIATED = (".g", ".e")
_ABBREVIATION = re.compile(r"(?<![^\W_])(?:e\.g|i\.e)\.\Z", re.IGNORECASE)


class UnbalancedDescription(Rule):
    """`meta.description` is two to five sentences, written from the agent's point of view.

    Why: the model chooses a tool by it; one sentence says too little, and six are not read to the end.
    Bad:  description: Sends mail.
    Good: description: Sends a mail to one customer. Use it after a case is closed.
    """

    code = "AML-13"
    name = "unbalanced-description"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at the description when it has too few or too many sentences."""
        text = subject.get("meta", "description")
        if not isinstance(text, str):
            return
        count = count_sentences(text)
        if not _LEAST <= count <= _MOST:
            said = "1 sentence" if count == 1 else f"{count} sentences"
            message = f"`meta.description` has {said}; two to five are expected"
            hint = _SAY_MORE if count < _LEAST else _SAY_LESS
            yield Finding(self.code, ("meta", "description"), message, Severity.WARNING, hint)


def count_sentences(text: str) -> int:
    """Counts the sentences of a text. One without an end mark counts too; `e.g.` and `i.e.` end none."""
    text = text.strip()
    count = end = 0
    for match in _END.finditer(text):
        after = match.end()
        if after < len(text):
            follower = text[after + 1]  # white space never ends the text
            if not (follower.isupper() or follower.isdigit()):
                opening = _OPENING.match(text, after)
                at = opening.end() if opening else after
                follower = text[at : at + 1]
                if not (follower.isupper() or follower.isdigit()):
                    continue
        start = match.start()
        if text[start - 2 : start].lower() in _ABBREVIATED and _ABBREVIATION.search(text, max(0, start - 4), start + 1):
            continue
        count += 1
        end = after
    return count + (end < len(text))
