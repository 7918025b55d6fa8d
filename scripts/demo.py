"""`make run`: checks and shows the demo workspace, then says what to try. The demo's mistake is no failure here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FERRULE = Path(sys.executable).parent / "ferrule"
NEXT = """\
That error is there on purpose. Try next:

  .venv/bin/ferrule rule AML-91                     what the rule wants, and why
  edit demo/agents/service-desk.agent.md            mend 'refund-oder', then make run again
  .venv/bin/ferrule show refund-order --workspace demo
                                                    one tool in full, with what was inferred about it
  break any file in demo/ and check it              .venv/bin/ferrule check demo
  .venv/bin/ferrule init my-tools                   a workspace of your own

The guide starts at docs/guide/first-five-minutes.md.
"""


def main() -> int:
    """0 when the demo could be shown."""
    checked = _ferrule("check", "demo")
    if checked > 1:
        return checked
    print()
    if listed := _ferrule("list", "demo"):
        return listed
    print(NEXT)
    return 0


def _ferrule(*arguments: str) -> int:
    print(f"$ ferrule {' '.join(arguments)}", flush=True)
    return subprocess.run([str(FERRULE), *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
