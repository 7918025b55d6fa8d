"""A second pair of hands: `python -m ferrule.worker` checks batches of files for `compiler/pool.py` and prints the answers."""

from __future__ import annotations

import gc
import sys

import msgspec

from ferrule.compiler.batch import Job, Task, taken
from ferrule.compiler.cache import Stat, digest_of, stat_from
from ferrule.compiler.check import check_file
from ferrule.compiler.discover import load_with_facts
from ferrule.contracts.rule import RuleSettings
from ferrule.model.report import FileReport
from ferrule.parts import parts


class Checked(msgspec.Struct, frozen=True, array_like=True):
    """What one file gave, with what the cache needs to know it again."""

    report: FileReport
    stat: Stat | None
    digest: bytes


_answers = msgspec.msgpack.Decoder(list[tuple[int, Checked]])


def decode(data: bytes) -> list[tuple[int, Checked]]:
    """A worker's answer."""
    return _answers.decode(data)


def check_task(task: Task, settings: RuleSettings) -> Checked:
    """Check one file. The state is taken before the content, so a change in between is noticed next time."""
    source, facts = load_with_facts(task.path, task.name)
    stat = None if facts is None else stat_from(facts)
    report = check_file(source, parts(), settings, named=task.named, rules=task.is_wanted)
    return Checked(report, stat, digest_of(source.data))


def main() -> None:
    """Take batches until none are left, then answer."""
    gc.disable()  # short-lived, and nearly everything it makes is an answer
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    settings = msgspec.msgpack.decode(job.settings, type=RuleSettings)
    indexes = taken(job.tickets, job.batch, len(job.tasks))
    answers = [(index, check_task(job.tasks[index], settings)) for index in indexes]
    sys.stdout.buffer.write(msgspec.msgpack.encode(answers))


if __name__ == "__main__":
    main()
