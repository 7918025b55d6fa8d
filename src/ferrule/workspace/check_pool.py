"""Runs one process of the check pool: checks batches of files for `definitions/compiler/pool.py` and prints the outcomes.

Started as `python -m ferrule.workspace.check_pool`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

import msgspec

from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.cache import Stat, digest_of, stat_from
from ferrule.definitions.compiler.check import FileToCheck, check_files
from ferrule.definitions.compiler.discover import load_with_facts
from ferrule.definitions.compiler.pool import FileTask, Job, take_batches
from ferrule.model.diagnostic import FileReport
from ferrule.workspace.parts import load_parts


class CheckedFile(msgspec.Struct, frozen=True, array_like=True):
    """The report of one file, with the state by which the cache recognises the file."""

    report: FileReport
    stat: Stat | None
    digest: bytes


_answers = msgspec.msgpack.Decoder(list[tuple[int, CheckedFile]])


def decode(data: bytes) -> list[tuple[int, CheckedFile]]:
    """Decodes the answer of one process of the pool."""
    return _answers.decode(data)


def check_tasks(tasks: Sequence[FileTask], settings: RuleSettings) -> list[CheckedFile]:
    """Checks some files. Their state is read before their content, so the next check notices a change in between."""
    loaded = [load_with_facts(task.path, task.name) for task in tasks]
    requests = [
        FileToCheck(source, task.named, task.is_wanted) for task, (source, _) in zip(tasks, loaded, strict=True)
    ]
    reports = check_files(requests, load_parts(), settings)
    return [
        CheckedFile(report, None if facts is None else stat_from(facts), digest_of(source.data))
        for report, (source, facts) in zip(reports, loaded, strict=True)
    ]


def main() -> None:
    """Takes batches until none are left, then prints the outcomes."""
    gc.disable()  # a short process, and nearly all its objects are part of the output
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    settings = msgspec.msgpack.decode(job.settings, type=RuleSettings)
    answers: list[tuple[int, CheckedFile]] = []
    for numbers in take_batches(job.tickets, job.batch, len(job.tasks)):
        answers += zip(numbers, check_tasks(job.tasks[numbers.start : numbers.stop], settings), strict=True)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answers))


if __name__ == "__main__":
    main()
