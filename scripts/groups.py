"""Prints the requirements of dependency groups of pyproject.toml, for versions of pip that do not know `--group`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

GROUPS = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))[
    "dependency-groups"
]


def main() -> None:
    """One requirement a line, without spaces, so that a shell can pass them on."""
    for name in sys.argv[1:]:
        for requirement in GROUPS[name]:
            print(requirement.replace(" ", ""))


if __name__ == "__main__":
    main()
