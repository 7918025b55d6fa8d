"""`make run`: the demo workspace, live: checked, called, stopped, approved, refused, audited. Then it is served, with a console.

`make story` tells the story and serves nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo"
FERRULE = Path(sys.executable).parent / "ferrule"
SHOP = Path(".ferrule/bookshop.db")
CALLER = ("--agent", "shop-assistant", "--principal", "lena")
USUAL_PORT = 8787
OTHERS = ("FERRULE_TOKEN", "FERRULE_POLICY")
"""Variables of the reader's own workspaces, which would change this story."""


class Step(NamedTuple):
    """One command, why it is shown, and the exit code that belongs to it."""

    why: str
    words: tuple[str, ...]
    code: int = 0


def refund(order: str, euros: int, reason: str) -> tuple[str, ...]:
    """An agent's call that pays money back."""
    return ("call", "refund_order", "--order-number", order, "--amount-eur", str(euros), "--reason", reason, *CALLER)


OPENING = (
    Step("The tools of a bookshop, written in four formats, are checked like code.", ("check",)),
    Step("They are built into a sealed catalog: a changed byte breaks the seal.", ("build",)),
    Step("An agent looks an order up. It only reads, so it is answered at once.",
         ("call", "order_status", "--order-number", "BK-104233", *CALLER)),
    Step("A refund moves money. It stops before it runs, and waits for a person (exit code 3).",
         refund("BK-104233", 40, "damaged"), 3),
)  # fmt: skip
CLOSING = (
    Step("What policy.toml forbids is refused, in words, and recorded as fully as a yes (exit code 1).",
         refund("BK-104198", 80, "goodwill"), 1),
    Step("Every call, the newest last.", ("log", "-n", "5")),
    Step("Nobody has edited, removed or reordered a row of the ledger since.", ("audit", "verify")),
)  # fmt: skip
LEFT_WAITING = refund("BK-104198", 60, "returned")
NEXT = """
Try next, from this folder:

  export PATH="$PWD/.venv/bin:$PATH"; cd demo
  ferrule explain last                        the whole story of a call
  ferrule call count_shelves --follow         a call that takes a moment, as a bar; Ctrl-C asks it to stop
  edit policy.toml; ferrule policy test       the rules, written for a reviewer, and the cases they are held to
  ferrule init ~/my-tools                     a workspace of your own

The guide starts at docs/guide/first-five-minutes.md.
"""
SERVED = """
{title}

It has a console, in the browser. A refund waits in its inbox: approve it there, and see it run.
In another terminal, three agents go to work, so that there is something to watch:

  make demo-agent
"""
ASTRAY = """
That was not meant to happen here (exit code {code} instead of {expected}). If you changed something in demo/, this is what became
of it. To start afresh: git checkout demo && rm -rf demo/.ferrule demo/ferrule.pub"""


def main(folder: Path = DEMO) -> int:
    """0 when the whole story could be told of the demo in this folder."""
    (folder / SHOP).unlink(missing_ok=True)  # the shop opens with the same books and orders again
    print("$ cd demo")
    if not all(_tell(step, folder) for step in OPENING):
        return 1
    return 0 if all(_tell(step, folder) for step in (_approval(folder), *CLOSING)) else 1


def serve(folder: Path = DEMO) -> None:
    """Serves the demo until Ctrl-C, on another port where the usual one is taken. This process becomes the server, so that
    whoever ends it ends that."""
    port = os.environ.get("PORT") or str(_free_port())
    _leave_one_waiting(folder)
    print(SERVED.format(title=_bold("# And now the same tools, served to any agent.")))
    words = ("serve", "--port", port, "--open")
    print(f"$ ferrule {shlex.join(words)}\n", flush=True)
    os.chdir(folder)
    os.execve(FERRULE, [str(FERRULE), *words], _environment())


def _leave_one_waiting(folder: Path) -> None:
    """Something for the inbox, so that nobody's first look is at an empty one."""
    if not any(_is_for_the_owner(waiting) for waiting in _pending(folder)):
        _ferrule(LEFT_WAITING, folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", USUAL_PORT))
        except OSError:
            return 0
    return USUAL_PORT


def _tell(step: Step, folder: Path) -> bool:
    print(f"\n{_bold('# ' + step.why)}\n$ ferrule {shlex.join(step.words)}", flush=True)
    # One stream for both, so that a pipe keeps the order.
    code = _ferrule(step.words, folder, stdout=sys.stdout.fileno(), stderr=sys.stdout.fileno()).returncode
    if code != step.code:
        print(ASTRAY.format(code=code, expected=step.code), flush=True)
    return code == step.code


def _approval(folder: Path) -> Step:
    """The newest waiting call: an earlier run that was broken off may have left older ones."""
    words = ("approve", _pending(folder)[-1]["invocation_id"], "--reason", "the photo shows a torn jacket")
    return Step("A person says yes, and the call runs: exactly this call, exactly this input, once.", words)


def _pending(folder: Path) -> list[dict[str, Any]]:
    """The calls that wait for a person, the newest last."""
    told: list[dict[str, Any]] = json.loads(_ferrule(("pending", "--json"), folder, stdout=subprocess.PIPE).stdout)
    return told


def _is_for_the_owner(waiting: dict[str, Any]) -> bool:
    """True for a refund that whoever runs this can approve; larger ones are for accounts."""
    return waiting["tool_id"] == LEFT_WAITING[1] and waiting["purpose"] == "approval" and waiting["why_not"] is None


def _ferrule(
    words: tuple[str, ...], folder: Path, *, stdout: int, stderr: int | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FERRULE, *words], cwd=folder, env=_environment(), stdout=stdout, stderr=stderr, text=True)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OTHERS}


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


if __name__ == "__main__":
    if {"--help", "-h"} & set(sys.argv):
        sys.exit(__doc__)
    told = main()
    if told:
        sys.exit(told)
    if "--no-serve" in sys.argv:
        print(NEXT)
    else:
        serve()
