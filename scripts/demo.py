"""`make run`: the demo workspace, live: checked, built, called, stopped, approved, explained, audited. Then it is served.

`make story` tells the story and serves nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo"
FERRULE = Path(sys.executable).parent / "ferrule"
AGENT = Path("agents/service-desk.agent.md")
CALLER = ("--agent", "service-desk", "--principal", "lena")
USUAL_PORT = 8787
OTHERS = ("FERRULE_TOKEN", "FERRULE_POLICY")
"""Variables of the reader's own workspaces, which would change this story."""


class Step(NamedTuple):
    """One command, why it is shown, and the exit code that belongs to it."""

    why: str
    words: tuple[str, ...]
    code: int = 0


OPENING = (
    Step("The tools of a bicycle shop, written in four formats, are checked like code.", ("check",)),
    Step("They are built into a sealed catalog: a changed byte breaks the seal.", ("build",)),
    Step("These are the tools.", ("list",)),
    Step("An agent looks an order up. It only reads, so it is answered at once.",
         ("call", "find-order", "--order-number", "TC-104233", *CALLER)),
    Step("A refund moves money. It stops before it runs, and waits for a person (exit code 3).",
         ("call", "refund-order", "--order-number", "TC-104233", "--amount-eur", "40", "--reason", "damaged", *CALLER), 3),
    Step("This is what the person sees. The agent's own credential cannot answer it.", ("pending",)),
)  # fmt: skip
CLOSING = (
    Step("The whole story of that call. Nothing of it is a log line; all of it is in the ledger.", ("explain", "last")),
    Step("What policy.toml forbids is refused, in words, and recorded as fully as a yes (exit code 1).",
         ("call", "refund-order", "--order-number", "TC-104198", "--amount-eur", "80", "--reason", "goodwill", *CALLER), 1),
    Step("Every call, the newest last.", ("log", "-n", "5")),
    Step("Nobody has edited, removed or reordered a row of the ledger since.", ("audit", "verify")),
)  # fmt: skip
MISTAKE = "And when a definition has a typo, here in a copy of the demo: the line, the rule, and what to do."
NEXT = """
Try next, in another terminal, from this folder:

  export PATH="$PWD/.venv/bin:$PATH"; cd demo
  ferrule call refund-order --order-number TC-104198 --amount-eur 620 --reason damaged --principal lena
                                              a large refund: ferrule pending tells who may approve it, and that you may not
  ferrule key add maria --scope approve --group accounts
                                              maria may: FERRULE_TOKEN=frl_… ferrule approve inv_…
  ferrule call count_shelves --follow         a call that takes a moment, as a bar; Ctrl-C asks it to stop
  ferrule call print_labels --labels 50 --follow
                                              and from another terminal: ferrule follow last; ferrule cancel last
  ferrule disable refund-order                off, at once, in every process; ferrule enable turns it on again
  edit policy.toml; ferrule policy test       the rules, written for a reviewer, and the cases they are held to
  ferrule init ~/my-tools                     a workspace of your own

The same in Python (.venv/bin/python):

  import ferrule
  with ferrule.open_sync("demo") as app:
      surface = app.surface(agent="service-desk", principal="lena")
      print(surface.call("find-order", {"order_number": "TC-104233"}).value)

The guide starts at docs/guide/first-five-minutes.md, and for serving at docs/guide/serving.md.
"""
SERVED = """And as an agent does it, while this terminal serves:

  curl localhost:{port}/v1/calls -H "Authorization: Bearer $(cat .ferrule/keys/agent.token)" \\
       -H "Content-Type: application/json" -H "Prefer: wait=60" -d \\
       '{{"tool": "refund-order", "arguments": {{"order_number": "TC-104233", "amount_eur": 40, "reason": "damaged"}}}}'
                                              it waits: ferrule pending, ferrule approve in a third terminal; then it ends
"""
ASTRAY = """
That was not meant to happen here (exit code {code} instead of {expected}). If you changed something in demo/, this is what became
of it. To start afresh: git checkout demo && rm -rf demo/.ferrule demo/ferrule.pub"""


def main(folder: Path = DEMO) -> int:
    """0 when the whole story could be told of the demo in this folder."""
    print("$ cd demo")
    if not all(_tell(step, folder) for step in OPENING):
        return 1
    if not all(_tell(step, folder) for step in (_approval(folder), *CLOSING)):
        return 1
    if not _tell_of_a_typo(folder):
        return 1
    print(NEXT)
    return 0


def serve(folder: Path = DEMO) -> int:
    """Serve the demo until Ctrl-C; on another port where the usual one is taken."""
    port = os.environ.get("PORT") or str(_free_port())
    if port != "0":
        print(SERVED.format(port=port))
    print(_bold("# And now the same tools, served to any agent.") + f"\n$ ferrule serve --port {port}\n", flush=True)
    try:
        return _ferrule(("serve", "--port", port), folder, stdout=sys.stdout.fileno()).returncode
    except KeyboardInterrupt:
        return 0


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
    waiting = json.loads(_ferrule(("pending", "--json"), folder, stdout=subprocess.PIPE).stdout)
    words = ("approve", waiting[-1]["invocation_id"], "--reason", "the photo shows a bent wheel")
    return Step("A person says yes, and the call runs: exactly this call, exactly this input, once.", words)


def _tell_of_a_typo(folder: Path) -> bool:
    with tempfile.TemporaryDirectory() as elsewhere:
        copy = Path(elsewhere) / "demo"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".ferrule"))
        agent = copy / AGENT
        agent.write_text(agent.read_text(encoding="utf-8").replace("refund-order", "refund-oder"), encoding="utf-8")
        return _tell(Step(MISTAKE, ("check",), 1), copy)


def _ferrule(
    words: tuple[str, ...], folder: Path, *, stdout: int, stderr: int | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in OTHERS}
    return subprocess.run([FERRULE, *words], cwd=folder, env=environment, stdout=stdout, stderr=stderr, text=True)


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


if __name__ == "__main__":
    sys.exit(main() or ("--no-serve" not in sys.argv and serve()))
