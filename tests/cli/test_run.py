"""Help, version, misspelt commands, and what the command line does when something is wrong with the run itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import ferrule as package
from ferrule.cli import COMMANDS, help_text
from tests.cli.run import ferrule


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_every_command(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ran = ferrule(*arguments, folder=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, help_text(), "")
    assert all(f"  {name} " in ran.out for name, *_ in COMMANDS)


def test_help_loads_no_command_and_no_library(tmp_path: Path) -> None:
    script = "import sys; from ferrule.cli import main; main(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(ran.stderr.split())
    assert not loaded & {
        "click",
        "rich",
        "msgspec",
        "yaml",
        "jsonschema_rs",
        "cryptography",
        "ferrule.workspace.workspace",
    }


def test_a_check_of_one_aml_file_loads_nothing_heavy(workspace: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from ferrule.cli import main; main(['check', 'send-reply.tool.md']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    alone = tmp_path / "alone"
    alone.mkdir()
    (workspace / "tools" / "send-reply.tool.md").rename(alone / "send-reply.tool.md")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=alone)
    assert ran.stdout == "1 tool in 1 file: no problems\n"
    heavy = {"rich", "cryptography", "yaml", "jsonschema_rs", "importlib.metadata", "asyncio", "multiprocessing"}
    assert not set(ran.stderr.split()) & heavy


def test_version_is_the_packages(tmp_path: Path) -> None:
    assert ferrule("--version", folder=tmp_path).out == f"ferrule {package.__version__}\n"


def test_a_misspelt_command_gets_the_nearest(tmp_path: Path) -> None:
    ran = ferrule("chek", folder=tmp_path)
    assert ran.code == 2
    assert "did you mean 'check'?" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("name", [name for name, target, *_ in COMMANDS if find_spec(target.partition(":")[0])])
def test_every_command_has_help(name: str, tmp_path: Path) -> None:
    ran = ferrule(name, "--help", folder=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: ferrule {name}")
    assert ferrule("help", name, folder=tmp_path).out == ran.out


@pytest.mark.parametrize(
    "arguments",
    [("check", "--no-such-option"), ("check", "nowhere"), ("check", "--now", "yesterday"), ("check", "--jobs", "0")],
)
def test_what_cannot_run_exits_with_2_and_says_why_on_stderr(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ran = ferrule(*arguments, folder=tmp_path)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.strip()
    assert "Traceback" not in ran.err


def test_unusable_settings_exit_with_2(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("[check]\nstrikt = true\n")
    ran = ferrule("check", folder=tmp_path)
    assert ran.code == 2
    assert "strict" in ran.err


def test_a_misspelt_setting_gets_the_nearest_in_any_table(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('[aml]\naproved_versions = ["1.2"]\n')
    assert "did you mean 'approved_versions'?" in ferrule("check", folder=tmp_path).err


def test_settings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_bytes(b'\xef\xbb\xbfnamespace = "ours"\n')
    ran = ferrule("check", folder=tmp_path)
    assert (ran.code, ran.err) == (0, "")


def test_a_reader_that_goes_away_is_no_error_message(workspace: Path) -> None:
    script = "import sys; from ferrule.cli import main; sys.exit(main(['rule']))"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=workspace
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) == 141


@pytest.mark.parametrize("command", ["build", "publish", "diff"])
def test_a_day_that_is_none_is_refused_before_anything_is_done(command: str, workspace: Path) -> None:
    ran = ferrule(command, "--now", "yesterday", folder=workspace)
    assert ran.code == 2
    assert "--now takes a date" in ran.err
    assert not (workspace / ".ferrule" / "catalog.ferrule").exists()


def test_a_commands_help_has_a_short_form(tmp_path: Path) -> None:
    ran = ferrule("check", "-h", folder=tmp_path)
    assert ran.code == 0
    assert ran.out == ferrule("check", "--help", folder=tmp_path).out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", ["--help", "rule", "check", "list", "show send-reply", "check --format json"])
def test_output_that_cannot_be_written_is_no_verdict_on_the_definitions(words: str, workspace: Path) -> None:
    ran = shell(f"{words} >/dev/full", workspace)
    assert ran.returncode == 2
    assert ran.stderr == "ferrule: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "2>/dev/full"])
def test_a_closed_stream_leaves_the_exit_code(closed: str, broken: Path) -> None:
    assert shell(f"check {closed}", broken).returncode == 1
    assert shell(f"check nowhere {closed}", broken).returncode == 2
    assert "Traceback" not in shell(f"list {closed}", broken).stderr


def test_a_current_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    ran = shell("check", tmp_path, first=f'mkdir "{tmp_path}/gone" && cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone"')
    assert ran.returncode == 2
    assert ran.stderr == "ferrule: the current folder is not there any more; change to one that is\n"


def test_a_bug_is_not_taken_for_an_error_in_the_definitions(workspace: Path) -> None:
    script = (
        "import sys, ferrule.cli.check as check; from ferrule.cli import main\n"
        "def fail(*_): raise LookupError('on purpose')\n"
        "check.check = fail; sys.exit(main(['check']))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=workspace, check=False)
    assert ran.returncode == 2
    assert "LookupError: on purpose" in ran.stderr
    assert ran.stderr.endswith("please report it with the lines above\n")


def shell(words: str, folder: Path, first: str = "true") -> subprocess.CompletedProcess[str]:
    """Run `ferrule …` through the shell, for redirections, after another command."""
    script = "import sys; from ferrule.cli import main; sys.exit(main())"
    line = f'{first} && "{sys.executable}" -c "{script}" {words}'
    return subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
