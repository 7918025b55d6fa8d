"""Asks the command line what a shell would offer while somebody types."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import ferrule


def offered(folder: Path, words: str) -> list[str]:
    """What a shell is told to offer."""
    ran = ferrule(
        folder=folder,
        environment={
            "_FERRULE_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
    )
    assert (ran.code, ran.err) == (0, "")
    return [answer.partition(",")[2] for answer in ran.out.split()]
