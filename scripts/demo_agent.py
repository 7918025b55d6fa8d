"""`make demo-agent`: agents that work in the served demo through MCP, without a model and without a key of anybody's.

    make run                 in one terminal: serves the demo
    make demo-agent          in another: three agents and the stockroom go to work, until Ctrl-C
    make demo-agent ARGS=…   --rate 3 (acts a second), --minutes 5, --once (each act one time), --seed 7

What waits for a person stands in the inbox of the console. Once somebody has answered, the agent picks the result up.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

if __name__ == "__main__":  # as a script it stands alone: the repository is not on its path
    sys.path.insert(0, str(Path(__file__).parent.parent))

from ferrule.access.keys import KEYS_FOLDER, Access
from ferrule.access.tokens import KeyLimits
from ferrule.cli.console import find_server, is_served
from ferrule.errors import AccessError
from ferrule.infra.private_files import read_private, replace_private
from ferrule.model.approval import CALL
from ferrule.settings import load_settings
from scripts.demo_acts import ACTS, Act, Deed
from scripts.demo_client import Answer, Away, Client

DEMO = Path(__file__).parent.parent / "demo"
AT_ONCE = 8
INBOX_ENOUGH = 6
"""With so many of our calls waiting for people, no more are made that would."""
LOOK_SECONDS = 1.0
"""How often waiting calls are asked about."""
STOP_SECONDS = 0.5
WIDTH = 14
NOBODY = """Nothing serves the demo at {at}. Start it in another terminal, and come back:

  make run"""


class Worker(NamedTuple):
    """An agent, for whom it works, and what its key is bound to."""

    name: str
    person: str
    limits: KeyLimits


WORKERS = (
    Worker("shop-assistant", "sam", KeyLimits(agent="shop-assistant")),
    Worker("support-bot", "lena", KeyLimits(agent="support-bot")),
    Worker("back-office", "noor", KeyLimits(agent="back-office")),
    Worker("stockroom", "otto", KeyLimits(surface="surface:stockroom")),
)


class Waiting(NamedTuple):
    """A call that has not ended."""

    agent: str
    deed: Deed
    task: str


class Crew:
    """The agents at work."""

    def __init__(self, clients: dict[str, Client], seed: int) -> None:
        self._clients = clients
        self._chance = Random(seed)
        self._run = f"demo-{seed}-{int(time.time())}"
        self._numbers = 0
        self._waiting: list[Waiting] = []
        self._lock = threading.Lock()
        self.away: Away | None = None
        self.mistakes: list[BaseException] = []
        """Our own, which must not pass in silence."""

    @property
    def waiting(self) -> int:
        """How many calls wait for a person."""
        return len(self._waiting)

    def work_once(self) -> None:
        """Every act, one time."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for act in ACTS:
                self._begin(pool, act)

    def work(self, rate: float, seconds: float) -> None:
        """Act after act, so many a second, until the time is up or the server is gone."""
        end, next_look = time.monotonic() + seconds, 0.0
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while self.away is None and not self.mistakes and time.monotonic() < end:
                self._begin(pool, self._drawn())
                if time.monotonic() >= next_look:
                    pool.submit(self.look)
                    next_look = time.monotonic() + LOOK_SECONDS
                time.sleep(self._chance.uniform(0.5, 1.5) / rate)

    def look(self) -> None:
        """Ask about the calls that wait, and tell of those that have ended."""
        with self._lock:
            asked, self._waiting = self._waiting, []
        try:
            for one in asked:
                answer = self._clients[one.agent].task(one.task)
                if answer.task is not None:
                    self._waiting.append(one)
                else:
                    say(one.agent, f"{one.deed.words}, which waited", outcome(one.deed, answer))
        except Away as away:
            self.away = away

    def _drawn(self) -> Act:
        acts = [act for act in ACTS if not act.needs_person or self.waiting < INBOX_ENOUGH]
        return self._chance.choices(acts, [act.often for act in acts])[0]

    def _begin(self, pool: ThreadPoolExecutor, act: Act) -> None:
        self._numbers += 1
        begun = pool.submit(self._do, act, act.deed(self._chance), f"{self._run}-{self._numbers}")
        begun.add_done_callback(lambda ended: self.mistakes.extend([fault] if (fault := ended.exception()) else []))

    def _do(self, act: Act, deed: Deed, run: str) -> None:
        try:
            if len(deed.calls) > 1:
                self._batch(act.agent, deed, run)
            else:
                self._call(act, deed, run)
        except Away as away:
            self.away = away

    def _call(self, act: Act, deed: Deed, run: str) -> None:
        agent, (tool, arguments) = act.agent, deed.calls[0]
        client = self._clients[agent]
        steps: list[str] = []
        progress = (lambda done, message: steps.append(message)) if deed.is_watched else None
        answer = client.call(tool, arguments, run=run, progress=progress)
        if answer.task is None:
            told = f" ({len(steps)} steps)" if steps else ""
            say(agent, deed.words, outcome(deed, answer) + told)
            return
        if deed.is_stopped:
            time.sleep(STOP_SECONDS)
            client.cancel(answer.task)
        else:
            say(agent, deed.words, "… waits for a person" if act.needs_person else "… takes its time")
        self._waiting.append(Waiting(agent, deed, answer.task))

    def _batch(self, agent: str, deed: Deed, run: str) -> None:
        ended = [call.get("state") for call in self._clients[agent].batch(deed.calls, run=run)]
        say(agent, deed.words, f"✓ {ended.count('succeeded')} of {len(ended)} succeeded")


def outcome(deed: Deed, answer: Answer) -> str:
    """What came of a deed, in one line."""
    if not answer.is_error:
        return f"✓ {deed.told(answer.value)}"
    return f"✗ {answer.text.partition(chr(10))[0]}"


def say(agent: str, words: str, came_of_it: str) -> None:
    """One line of work."""
    print(f"{time.strftime('%H:%M:%S')}  {agent:<{WIDTH}}  {words}  {came_of_it}", flush=True)


def key_of(root: Path, worker: Worker) -> str:
    """The key of a worker, made at first use. Raises AccessError."""
    access = Access(root, environment={})  # the workspace's own tokens, whatever the reader has at hand
    file = root / KEYS_FOLDER / f"demo-{worker.name}.token"
    kept = (read_private(file) or b"").decode().strip()
    if kept:
        try:
            access.authenticate(kept)
        except AccessError:
            kept = ""  # revoked, or of a workspace that was made anew
    if not kept:
        _, kept = access.add(access.local_owner(), worker.person, (CALL,), limits=worker.limits)
        replace_private(file, kept.encode())
    return kept


def main(words: Sequence[str] | None = None) -> int:
    """0 when the work was done; 1 when there was nobody to work for."""
    said = _options(words)
    serve = load_settings(said.workspace).serve
    at = said.url or find_server(said.workspace, serve) or f"http://{serve.host}:{serve.port}"
    if not is_served(at):
        print(NOBODY.format(at=at), file=sys.stderr)
        return 1
    crew = Crew({worker.name: Client(at, key_of(said.workspace, worker)) for worker in WORKERS}, said.seed)
    print(f"Working at {at}; the console shows it: {at}/console/  (ferrule console --workspace {said.workspace})\n")
    try:
        if said.once:
            crew.work_once()
            crew.look()
        else:
            crew.work(said.rate, said.minutes * 60)
    except KeyboardInterrupt:
        print()
    if crew.mistakes:
        raise crew.mistakes[0]
    if crew.away is not None:
        print(f"\nStopped: {crew.away}", file=sys.stderr)
        return 1
    if crew.waiting:
        waits = f"{crew.waiting} {'calls wait' if crew.waiting > 1 else 'call waits'}"
        print(f"\n{waits} for a person: {at}/console/inbox")
    return 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Agents that work in the served demo, through MCP, without a model.")
    parser.add_argument("--rate", type=float, default=1.5, help="acts a second (1.5)")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="how long to work (until Ctrl-C)")
    parser.add_argument("--once", action="store_true", help="each act one time, then end")
    parser.add_argument("--seed", type=int, default=7, help="which order of acts (7)")
    parser.add_argument("--workspace", type=Path, default=DEMO, help="the demo's folder")
    parser.add_argument("--url", default=os.environ.get("FERRULE_DEMO_URL", ""), help="where it is served")
    said = parser.parse_args(words)
    if said.rate <= 0:
        parser.error("--rate must be above 0")
    return said


if __name__ == "__main__":
    sys.exit(main())
