"""Which processes are alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ferrule.ledger.stores.sqlite.instances import Instance, is_alive, make_name, sweep

_CHILD = """
import sys
from pathlib import Path
from ferrule.ledger.stores.sqlite.instances import Instance
held = Instance(Path(sys.argv[1]), "1-abc")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_process_is_alive_until_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        assert is_alive(tmp_path, "1-abc")
        sweep(tmp_path, ())
        assert is_alive(tmp_path, "1-abc")
        child.send_signal(signal.SIGKILL)
        child.wait(20)
    assert not is_alive(tmp_path, "1-abc")
    sweep(tmp_path, {"1-abc"})
    assert (tmp_path / "1-abc").exists()
    sweep(tmp_path, ())
    assert not (tmp_path / "1-abc").exists()


def test_an_instance_of_this_very_process_is_alive_until_it_is_closed(tmp_path: Path) -> None:
    name = make_name()
    instance = Instance(tmp_path, name)
    assert is_alive(tmp_path, name)
    instance.close()
    assert not is_alive(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_a_path_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not is_alive(tmp_path / "instances", "../file")


def test_a_forked_child_does_not_keep_its_parent_alive(tmp_path: Path) -> None:
    script = (
        _CHILD.replace("sys.stdin.read()", "") + "import os\nif os.fork() == 0:\n    sys.stdin.read()\nos._exit(0)\n"
    )
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=reading, stdout=subprocess.PIPE
    ) as parent:
        os.close(reading)
        parent.wait(20)
        until = time.monotonic() + 20  # the child lets go with its first step, which may come after its parent's last
        while is_alive(tmp_path, "1-abc") and time.monotonic() < until:
            time.sleep(0.01)
        assert not is_alive(tmp_path, "1-abc")
        os.close(writing)
