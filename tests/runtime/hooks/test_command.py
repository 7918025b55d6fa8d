"""Programs as hooks: asked without a shell, bounded, and ended with everything they started."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from ferrule.contracts.hook import HookFailed
from ferrule.errors import SettingsError
from ferrule.runtime.hooks.command import MAX_ANSWER_BYTES, CommandReach

WAIT_SECONDS = 10.0


def python(code: str, timeout_seconds: float = WAIT_SECONDS, **options: object) -> CommandReach:
    return CommandReach([sys.executable, "-c", code], timeout_seconds=timeout_seconds, **options)  # type: ignore[arg-type]


def ask(reach: CommandReach, message: bytes = b"{}") -> bytes:
    return asyncio.run(reach.ask(message))


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def gone(pid: int) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_alive(pid)


def test_a_program_reads_the_message_and_its_output_is_the_answer() -> None:
    assert ask(python("import sys; print(sys.stdin.read()[::-1], end='')"), b"abc") == b"cba"


def test_standard_input_can_be_opened_by_name() -> None:
    assert ask(CommandReach(["/bin/sh", "-c", "cat /dev/stdin"], timeout_seconds=WAIT_SECONDS), b"abc") == b"abc"


def test_nothing_in_a_command_is_read_by_a_shell() -> None:
    words = ["$HOME", "a b", "; exit 3", "`id`", "*"]
    reach = CommandReach(
        [sys.executable, "-c", "import sys; print(sys.argv[1:])", *words], timeout_seconds=WAIT_SECONDS
    )
    assert ask(reach).decode().strip() == repr(words)


def test_a_program_sees_only_the_environment_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("A_SECRET", "s3cret")
    code = "import os; print(sorted(os.environ.items()), os.getcwd())"
    told = ask(python(code, cwd=tmp_path, env={"LANG": "C.UTF-8", "ONE": "1"})).decode()
    assert "('ONE', '1')" in told and str(tmp_path) in told
    assert "A_SECRET" not in told


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("import sys; sys.stderr.write('s3cret'); sys.exit(1)", "6 bytes on its error output"),
        (f"print('x' * {MAX_ANSWER_BYTES + 1})", f"more than {MAX_ANSWER_BYTES} bytes"),
        ("while True: print('x' * 65536)", f"more than {MAX_ANSWER_BYTES} bytes"),
    ],
)
def test_what_goes_wrong_is_told_and_its_words_are_not(code: str, says: str) -> None:
    with pytest.raises(HookFailed, match=says) as failed:
        ask(python(code))
    assert "s3cret" not in str(failed.value)


def test_as_much_as_is_allowed_is_heard() -> None:
    code = f"import sys; sys.stderr.write('e' * 200000); sys.stdout.write('x' * {MAX_ANSWER_BYTES})"
    assert len(ask(python(code))) == MAX_ANSWER_BYTES


def test_a_program_that_is_not_there_is_a_failure_that_does_not_show_its_arguments() -> None:
    with pytest.raises(HookFailed, match="'no-such-program' cannot be started: FileNotFoundError") as failed:
        ask(CommandReach(["no-such-program", "--token=s3cret"]))
    assert "s3cret" not in str(failed.value)


def test_a_message_nobody_reads_does_not_hold_up_anything() -> None:
    assert ask(python("print('ok')"), b"x" * 4_000_000).strip() == b"ok"


def test_a_program_that_ended_before_it_was_told_anything_is_no_trouble() -> None:
    trouble: list[object] = []

    async def told_late() -> bytes:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: trouble.append(context))
        connect = loop.connect_write_pipe

        async def late(*parts: object) -> object:
            await asyncio.sleep(0.2)  # the program has said everything and ended
            return await connect(*parts)  # type: ignore[arg-type]

        loop.connect_write_pipe = late  # type: ignore[method-assign, assignment]
        answer = await CommandReach(["/bin/echo", "{}"], timeout_seconds=WAIT_SECONDS).ask(b"{}")
        await asyncio.sleep(0)
        return answer

    assert asyncio.run(told_late()) == b"{}\n"
    assert trouble == []


def test_a_late_program_is_killed_with_what_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    code = f"""
import os, subprocess, time
child = subprocess.Popen(["sleep", "600"])
open({str(noted)!r} + ".new", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename({str(noted)!r} + ".new", {str(noted)!r})
time.sleep(600)
"""

    async def story() -> list[int]:
        asking = asyncio.create_task(python(code, timeout_seconds=600).ask(b"{}"))
        while not noted.exists():
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return [int(pid) for pid in noted.read_text().split()]

    pids = asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS))
    assert len(pids) == 2 and all(gone(pid) for pid in pids)


def test_a_program_has_a_deadline() -> None:
    began = time.monotonic()
    with pytest.raises(HookFailed, match=r"no answer within 0\.1 s"):
        ask(python("import time; time.sleep(600)", timeout_seconds=0.1))
    assert time.monotonic() - began < WAIT_SECONDS


def test_what_a_program_leaves_behind_ends_with_it() -> None:
    """A child that keeps the output open would otherwise hold up the call until the deadline."""
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    assert gone(int(ask(python(code))))


@pytest.mark.parametrize("argv", [[], [""], "python3 check.py", ["a\0b"]])
def test_a_command_that_makes_no_sense_is_a_settings_error(argv: list[str]) -> None:
    with pytest.raises(SettingsError, match="list of words"):
        CommandReach(argv)


def test_many_are_asked_at_once_and_no_handle_stays_open() -> None:
    async def story() -> int:
        reach = CommandReach(["/bin/cat"], timeout_seconds=WAIT_SECONDS)
        await reach.ask(b"warm")
        before = len(os.listdir("/proc/self/fd"))
        said = await asyncio.gather(*(reach.ask(str(number).encode()) for number in range(12)))
        assert [int(each) for each in said] == list(range(12))
        await asyncio.sleep(0)
        return len(os.listdir("/proc/self/fd")) - before

    assert asyncio.run(story()) <= 1


def test_whoever_is_told_to_stop_twice_leaves_no_handle_open_either() -> None:
    async def story() -> int:
        reach = python("import time; time.sleep(600)", timeout_seconds=600)
        before = len(os.listdir("/proc/self/fd"))
        asking = asyncio.create_task(reach.ask(b"{}"))
        while len(os.listdir("/proc/self/fd")) < before + 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(0.05)
        return len(os.listdir("/proc/self/fd")) - before

    assert asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS)) <= 0
