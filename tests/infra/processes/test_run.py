"""Programs at work, with and without a sandbox: what they write, how they end, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes.confined import describe_failure
from tests import ROOT
from tests.infra.processes.recording import (
    RecordingWire,
    count_descriptors,
    find_living,
    make_confinement,
    make_context,
    run_line,
    sandboxed,
    wait_until,
)
from tests.spec.running_app import run_async

BOTH = pytest.mark.parametrize("mode", ["required", "off"])
DAEMON = (
    "import os,sys,time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.close(0)\n"
    "time.sleep(60)\n"
)
STUBBORN = (
    "import signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('here',flush=True)\ntime.sleep(60)\n"
)


@pytest.fixture
def sign() -> str:
    """A text that no other process has among its arguments."""
    return f"sign-{secrets.token_hex(8)}"


def python(code: str, *arguments: str) -> list[str]:
    return ["/usr/bin/python3", "-c", code, *arguments]


def confined(tmp_path: Path, mode: str, **said: Any) -> Any:
    if mode == "required":
        sandboxed()
    return make_confinement(tmp_path, mode=mode, **said)


@BOTH
@run_async
async def test_a_program_gives_its_output_and_exit_code(tmp_path: Path, mode: str) -> None:
    (tmp_path / "x.txt").write_text("hello\n")
    finished = await run_line("cat x.txt", confined(tmp_path, mode))
    assert (finished.ended.reason, finished.ended.exit_code, finished.ended.output) == ("exited", 0, "hello\n")
    assert finished.sandbox == ("bubblewrap" if mode == "required" else "none")
    assert bool(finished.note) is (mode == "off")
    failed = await run_line("cat missing", confined(tmp_path, mode))
    assert failed.ended.exit_code == 1
    assert "missing" in failed.ended.output


@BOTH
@run_async
async def test_both_outputs_are_heard_and_counted(tmp_path: Path, mode: str) -> None:
    """AT-203: bytes of each, lines, the time limit, and the exit code at the end."""
    heard = RecordingWire()
    code = "import sys\nprint('abc')\nsys.stdout.flush()\nsys.stderr.write('de\\nf')\nsys.exit(3)"
    finished = await run_line(python(code), confined(tmp_path, mode), make_context(heard))
    ended = finished.ended
    assert (ended.stdout_bytes, ended.stderr_bytes, ended.line_count, ended.exit_code) == (4, 4, 3, 3)
    assert sorted(ended.output.split()) == ["abc", "de", "f"]
    assert heard.said[-1] == {
        "message": "ended", "stdout_bytes": 4, "stderr_bytes": 4, "line_count": 3, "timeout_ms": 10_000, "exit_code": 3,
    }  # fmt: skip


@BOTH
@run_async
async def test_progress_comes_while_it_runs_and_not_too_often(tmp_path: Path, mode: str) -> None:
    """AT-203: at most ten a second, however much is written."""
    heard = RecordingWire()
    code = "import time\nfor _ in range(60):\n print('x',flush=True)\n time.sleep(0.005)"
    began = time.monotonic()
    await run_line(python(code), confined(tmp_path, mode), make_context(heard))
    assert 2 <= len(heard.said) <= 10 * (time.monotonic() - began) + 2
    counts = [said["line_count"] for said in heard.said]
    assert counts == sorted(counts)
    assert counts[-1] == 60


@BOTH
@run_async
async def test_output_that_is_no_text_or_no_line(tmp_path: Path, mode: str) -> None:
    given = confined(tmp_path, mode)
    assert (await run_line("printf 'a\\377b'", given)).ended.output == "a\ufffdb"
    ended = (await run_line("printf abc", given)).ended
    assert (ended.output, ended.line_count) == ("abc", 1)
    silent = (await run_line("true", given)).ended
    assert (silent.output, silent.line_count) == ("", 0)
    assert "\0" in (await run_line("printf 'a\\000b'", given)).ended.output


@BOTH
@run_async
async def test_long_output_is_kept_whole_elsewhere(tmp_path: Path, mode: str) -> None:
    heard = RecordingWire()
    given = confined(tmp_path, mode, inline_bytes=1000)
    ended = (await run_line("seq 1 20000", given, make_context(heard))).ended
    assert not ended.is_whole
    assert len(ended.output) < 1200
    assert ended.output.startswith("1\n2\n")
    assert ended.output.endswith("19999\n20000\n")
    assert "left out" in ended.output
    assert ended.kept is not None
    assert bytes(heard.outputs[0].data) == "".join(f"{n}\n" for n in range(1, 20001)).encode()
    assert heard.outputs[0].state == "closed"


@BOTH
@run_async
async def test_output_beyond_the_limit_ends_the_program(tmp_path: Path, mode: str, sign: str) -> None:
    heard = RecordingWire()
    given = confined(tmp_path, mode, output_bytes=100_000, inline_bytes=1000)
    finished = await run_line(["yes", sign], given, make_context(heard))
    assert finished.ended.reason == "too_much_output"
    assert finished.ended.stdout_bytes == 100_000
    assert heard.outputs[0].size == 100_000
    failure = describe_failure(finished, make_context(), given.limits)
    assert failure is not None
    assert failure[0] == "result_too_large"
    assert not find_living(sign)


@BOTH
@run_async
async def test_a_program_that_takes_too_long_is_ended(tmp_path: Path, mode: str, sign: str) -> None:
    """AT-210: with everything it started, and with what it wrote until then."""
    given = confined(tmp_path, mode, seconds=0.4)
    code = "import subprocess,time\nprint('begun',flush=True)\nsubprocess.Popen(['sleep','60'])\ntime.sleep(60)"
    finished = await run_line(python(code, sign), given)
    assert finished.ended.reason == "timeout"
    assert finished.ended.output == "begun\n"
    assert finished.ended.is_gone
    failure = describe_failure(finished, make_context(), given.limits)
    assert failure is not None
    assert failure[0] == "timeout"
    assert not find_living(sign)


@BOTH
@run_async
async def test_the_callers_deadline_counts_if_it_is_sooner(tmp_path: Path, mode: str) -> None:
    """AT-210: the smallest of all limits."""
    told = make_context()
    told.deadline = asyncio.get_running_loop().time() + 0.3
    finished = await run_line("sleep 60", confined(tmp_path, mode), told)
    assert finished.ended.reason == "timeout"
    assert finished.ended.seconds < 2


@BOTH
@pytest.mark.parametrize("way", ["abort", "cancel", "both"])
@run_async
async def test_a_call_that_is_told_to_stop_leaves_nothing(tmp_path: Path, mode: str, way: str, sign: str) -> None:
    """AT-207: nothing is acknowledged before every process is gone, also one that ignores SIGTERM."""
    heard = RecordingWire()
    told = make_context(heard)
    task = asyncio.ensure_future(run_line(python(STUBBORN, sign), confined(tmp_path, mode), told))
    await wait_until(lambda: any(said["line_count"] for said in heard.said))
    assert find_living(sign)
    if way != "cancel":
        told.abort("user_interruption")
    if way != "abort":
        task.cancel()
    if way == "abort":
        finished = await task
        assert (finished.ended.reason, finished.ended.is_gone) == ("aborted", True)
        failure = describe_failure(finished, told, make_confinement(tmp_path).limits)
        assert failure is not None
        assert failure[0] == "canceled"
    else:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not find_living(sign)


@BOTH
@run_async
async def test_a_program_may_end_in_its_own_way_when_asked(tmp_path: Path, mode: str) -> None:
    code = (
        "import os,signal,sys,time\n"  # it may be asked twice, and print must not be interrupted by itself
        "def end(*_):\n signal.signal(signal.SIGTERM, signal.SIG_IGN)\n os.write(1, b'bye\\n')\n os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('here',flush=True)\ntime.sleep(60)"
    )
    heard = RecordingWire()
    told = make_context(heard)
    task = asyncio.ensure_future(run_line(python(code), confined(tmp_path, mode, grace_seconds=5.0), told))
    await wait_until(lambda: any(said["line_count"] for said in heard.said))
    told.abort("user_interruption")
    assert (await task).ended.output == "here\nbye\n"


@BOTH
@run_async
async def test_cancelling_twice_changes_nothing(tmp_path: Path, mode: str, sign: str) -> None:
    task = asyncio.ensure_future(run_line(python(STUBBORN, sign), confined(tmp_path, mode)))
    await wait_until(lambda: find_living(sign))
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not find_living(sign)


@BOTH
@run_async
async def test_cancelling_at_the_very_start_leaves_nothing(tmp_path: Path, mode: str, sign: str) -> None:
    given = confined(tmp_path, mode)
    before = count_descriptors()
    for steps in range(8):
        task = asyncio.ensure_future(run_line(["sleep", "60", sign], given))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not find_living(sign)
    assert count_descriptors() <= before


@BOTH
@pytest.mark.parametrize("code", [DAEMON, "import os,time\nos.fork() or time.sleep(60)\n"])
@run_async
async def test_what_a_program_leaves_behind_is_ended_with_it(tmp_path: Path, mode: str, code: str, sign: str) -> None:
    """A daemon, and a child that holds the output open: the call ends when the program does."""
    began = time.monotonic()
    finished = await run_line(python(code, sign), confined(tmp_path, mode))
    assert finished.ended.exit_code == 0
    assert finished.ended.is_gone
    assert time.monotonic() - began < 5
    assert not find_living(sign)


@BOTH
@run_async
async def test_daemons_end_when_the_call_is_told_to_stop(tmp_path: Path, mode: str, sign: str) -> None:
    code = (
        f"import subprocess,sys,time\nsubprocess.run(['/usr/bin/python3','-c',{DAEMON!r},sys.argv[1]])\ntime.sleep(60)"
    )
    task = asyncio.ensure_future(run_line(python(code, sign), confined(tmp_path, mode)))
    await wait_until(lambda: len(find_living(sign)) >= (2 if mode == "off" else 4))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not find_living(sign)


@BOTH
@run_async
async def test_setsid_does_not_help_to_get_away(tmp_path: Path, mode: str, sign: str) -> None:
    finished = await run_line(["setsid", "--fork", "sleep", "60", *()], confined(tmp_path, mode))
    assert finished.ended.is_gone
    task = asyncio.ensure_future(
        run_line(["setsid", "--wait", "sh", "-c", f"sleep 60 # {sign}"], confined(tmp_path, mode))
    )
    await wait_until(lambda: find_living(sign))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not find_living(sign)


@BOTH
@run_async
async def test_a_program_that_closes_its_output_is_waited_for(tmp_path: Path, mode: str) -> None:
    code = "import os,sys,time\nos.close(1)\nos.close(2)\ntime.sleep(0.3)\nos._exit(7)"
    began = time.monotonic()
    assert (await run_line(python(code), confined(tmp_path, mode))).ended.exit_code == 7
    assert time.monotonic() - began >= 0.3


@BOTH
@run_async
async def test_a_fork_bomb_is_bounded(tmp_path: Path, mode: str, sign: str) -> None:
    code = (
        "import os,time\nfor _ in range(400):\n"
        " try:\n  if not os.fork():\n   time.sleep(60)\n   os._exit(0)\n except OSError:\n  os._exit(9)\ntime.sleep(60)"
    )
    given = confined(tmp_path, mode, processes=30)
    finished = await run_line(python(code, sign), given)
    assert finished.ended.reason == "too_many_processes" or finished.ended.exit_code == 9
    assert finished.ended.is_gone
    assert not find_living(sign)


@BOTH
@run_async
async def test_the_signal_that_ended_a_program_is_known(tmp_path: Path, mode: str) -> None:
    ended = (await run_line(python("import os\nos.kill(os.getpid(), 9)"), confined(tmp_path, mode))).ended
    assert (ended.exit_code, ended.signal) == (137, 9)


@BOTH
@run_async
async def test_standard_input_is_closed(tmp_path: Path, mode: str) -> None:
    ended = (await run_line("cat", confined(tmp_path, mode))).ended
    assert (ended.exit_code, ended.output) == (0, "")


@BOTH
@run_async
async def test_limits_are_set(tmp_path: Path, mode: str) -> None:
    given = confined(tmp_path, mode, file_bytes=1000, open_files=50)
    ended = (await run_line("dd if=/dev/zero of=big bs=1000 count=5", given)).ended
    assert ended.exit_code != 0
    assert (tmp_path / "big").stat().st_size <= 1000
    assert "50" in (await run_line("prlimit --nofile --noheadings --output SOFT", given)).ended.output


@BOTH
@run_async
async def test_nothing_of_our_environment_is_handed_on(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LD_PRELOAD_X", "BASH_ENV", "ENV", "PYTHONPATH", "STRIPE_KEY", "GIT_DIR"):
        monkeypatch.setenv(name, "/tmp/evil-value")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    output = (await run_line("env", confined(tmp_path, mode))).ended.output
    assert "evil-value" not in output
    assert str(tmp_path) not in output.replace(f"PWD={tmp_path}", "")


@BOTH
@run_async
async def test_programs_are_not_looked_for_where_files_can_be_put(tmp_path: Path, mode: str) -> None:
    for name in ("ls", "mytool"):
        (tmp_path / name).write_text("#!/bin/sh\necho planted\n")
        (tmp_path / name).chmod(0o755)
    given = confined(tmp_path, mode)
    assert "planted" not in (await run_line("ls", given)).ended.output.splitlines()
    for name in ("mytool", "./mytool", "sub/../mytool"):
        with pytest.raises(ExecutionFailed) as failed:
            await run_line(name, given)
        assert failed.value.error_class == "invalid_arguments"


@BOTH
@run_async
async def test_nothing_stays_open_however_it_ends(tmp_path: Path, mode: str) -> None:
    given = confined(tmp_path, mode, seconds=0.3, output_bytes=5000)
    await run_line("true", given)
    before = count_descriptors()
    for line in ("true", "false", "sleep 60", "yes"):
        await run_line(line, given)
    with pytest.raises(ExecutionFailed):
        await run_line("no-such-program", given)
    assert count_descriptors() <= before


@run_async
async def test_many_run_side_by_side(tmp_path: Path) -> None:
    sandboxed()
    given = make_confinement(tmp_path)
    all_of_them = await asyncio.gather(*(run_line(f"echo {number}", given) for number in range(8)))
    assert [finished.ended.output for finished in all_of_them] == [f"{number}\n" for number in range(8)]


def test_closing_the_loop_ends_what_runs(tmp_path: Path, sign: str) -> None:
    async def main() -> None:
        asyncio.ensure_future(run_line(python(STUBBORN, sign), make_confinement(tmp_path, mode="off")))  # noqa: RUF006
        await wait_until(lambda: find_living(sign))

    asyncio.run(main())
    assert not find_living(sign)


@BOTH
def test_closing_the_loop_while_it_is_being_ended_changes_nothing(tmp_path: Path, mode: str, sign: str) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(run_line(python(STUBBORN, sign), confined(tmp_path, mode)))
        await wait_until(lambda: find_living(sign))
        task.cancel()
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert not find_living(sign)


@run_async
async def test_the_sandbox_ends_with_the_process_that_started_it(tmp_path: Path, sign: str) -> None:
    """Also when that is killed and can clean up nothing."""
    sandboxed()
    code = (
        "import asyncio,sys\nfrom pathlib import Path\nfrom tests.infra.processes.recording import make_confinement, run_line\n"
        "asyncio.run(run_line(['sh', '-c', 'sleep 60; :', sys.argv[2]], make_confinement(Path(sys.argv[1]))))"
    )
    words = (sys.executable, "-c", code, str(tmp_path), sign)
    child = await asyncio.create_subprocess_exec(*words, cwd=ROOT)
    await wait_until(lambda: len(find_living(sign)) >= 4)  # and the program itself runs
    child.kill()
    await child.wait()
    await wait_until(lambda: not find_living(sign))


@run_async
async def test_a_payload_that_cannot_be_kept_does_no_harm(tmp_path: Path) -> None:
    given = make_confinement(tmp_path, mode="off", inline_bytes=100)
    ended = (await run_line("seq 1 1000", given, make_context(RecordingWire(keeps=False)))).ended
    assert ended.kept is None
    assert ended.exit_code == 0
    assert "left out" in ended.output


@run_async
async def test_a_cancelled_call_keeps_no_payload(tmp_path: Path) -> None:
    heard = RecordingWire()
    task = asyncio.ensure_future(
        run_line("yes", make_confinement(tmp_path, mode="off", inline_bytes=100), make_context(heard))
    )
    await wait_until(lambda: heard.outputs)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard.outputs[0].state == "discarded"
