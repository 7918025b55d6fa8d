"""No spelling of a path, no link and no race leads a file tool out of its folders."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.runtime.builtins.executor import BuiltinExecutor
from tests.runtime.builtins.builtin_tools import expect_refusal, no_client, run, tool

SECRET = "the secret outside"


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A folder with a workspace and a secret beside it."""
    workspace = tmp_path / "ws"
    (workspace / "sub" / "deep").mkdir(parents=True)
    (workspace / "in.txt").write_text("inside")
    (workspace / "sub" / "in.txt").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    (tmp_path / "ws-too").mkdir()
    (tmp_path / "ws-too" / "secret.txt").write_text(SECRET)
    return workspace


ESCAPES = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "./../outside/secret.txt",
    "sub/deep/../../../outside/secret.txt",
    "../ws-too/secret.txt",
    "..//outside//secret.txt",
    "{outside}/secret.txt",
    "/{outside}/secret.txt",
    "//{outside}/secret.txt",
    "{ws}/../outside/secret.txt",
    "{ws}-too/secret.txt",
    "/etc/passwd",
    "/proc/self/root{outside}/secret.txt",
    "/proc/self/cwd/../x",
    "/proc/self/environ",
    "/dev/null",
    "/dev/fd/0",
    "..",
    "../..",
    "/",
    "../new.txt",
    "sub/../../new/new.txt",
]


@pytest.mark.parametrize("name", ["read", "write", "edit"])
@pytest.mark.parametrize("path", ESCAPES)
def test_spelled_escapes_are_refused_before_anything_is_touched(ground: Path, name: str, path: str) -> None:
    """ADL-24: the refusal says what would be allowed."""
    outside = str(ground.parent / "outside")
    with expect_refusal("sandbox_violation", "path_outside_roots", str(ground)):
        call(ground, name, path.format(outside=outside, ws=ground))
    assert_untouched(ground)


LINKS: dict[str, str] = {
    "file": "{outside}/secret.txt",
    "relative": "../outside/secret.txt",
    "winding": "sub/../../outside/secret.txt",
    "proc": "/proc/self/root{outside}/secret.txt",
    "dots": "../../../../../../../../../../../../../../etc/passwd",
}


@pytest.mark.parametrize("name", ["read", "write", "edit"])
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_links_that_lead_outside_are_refused(ground: Path, name: str, target: str) -> None:
    """ADL-24: as the last part of a path, through another link, and as a folder on the way."""
    target = target.format(outside=ground.parent / "outside")
    (ground / "link").symlink_to(target)
    (ground / "sub" / "second").symlink_to("../link")
    (ground / "folder").symlink_to(os.path.dirname(target))
    for path in ("link", "sub/second", f"folder/{os.path.basename(target)}", "folder/new.txt"):
        with expect_refusal("sandbox_violation", "path_outside_roots"):
            call(ground, name, path)
    assert_untouched(ground)


@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_links_that_stay_inside_are_followed(ground: Path, name: str) -> None:
    """ADL-24: links are resolved first; the link itself stays a link."""
    (ground / "link").symlink_to("sub/in.txt")
    (ground / "whole").symlink_to(ground / "sub")
    (ground / "sub" / "up").symlink_to("../../ws/in.txt")
    for path, file in (("link", "sub/in.txt"), ("whole/in.txt", "sub/in.txt"), ("sub/up", "in.txt")):
        (ground / file).write_text("inside")
        call(ground, name, path)
        assert (ground / file).read_text() == {"read": "inside", "write": "written", "edit": "edited"}[name]
    assert (ground / "link").is_symlink() and (ground / "whole").is_symlink() and (ground / "sub" / "up").is_symlink()


def test_links_in_circles_end(ground: Path) -> None:
    (ground / "a").symlink_to("b")
    (ground / "b").symlink_to(ground / "a")
    for name in ("read", "write"):
        with expect_refusal("sandbox_violation", "path_outside_roots", "too many links"):
            call(ground, name, "a")


def test_a_deep_path_holds_one_folder_at_a_time(ground: Path) -> None:
    """A model could have folders made until no file can be opened any more."""
    deep = "d/" * 1900
    with limited_files(64):
        run(ground, "write", file_path=f"{deep}a.txt", content="deep")
        assert run(ground, "read", file_path=f"{deep}a.txt")["content"] == "deep"
    while (ground / "d").exists():  # too deep to be removed in one go
        os.rename(ground / "d", ground / "gone")
        below = ground / "gone"
        for _ in range(200):
            if not (below / "d").exists():
                break
            below = below / "d"
        if (below / "d").exists():
            os.rename(below / "d", ground / "d")
        shutil.rmtree(ground / "gone")


@contextmanager
def limited_files(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_folder_stays_open(ground: Path) -> None:
    (ground / "link").symlink_to("sub/../../outside/secret.txt")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("in.txt", "link", "sub/none", "none/none", "sub/deep/../in.txt", "ferrule.toml"):
        for name in ("read", "edit"):
            with suppress(ExecutionFailed):
                call(ground, name, path)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("path", ["in.txt", "./in.txt", "sub/../in.txt", "{ws}/in.txt", "../ws/in.txt", "sub//in.txt"])
def test_spellings_that_end_inside_are_fine(ground: Path, path: str) -> None:
    assert call(ground, "read", path.format(ws=ground))["content"] == "inside"


@pytest.mark.parametrize(
    ("path", "code"),
    [("", "bad_path"), ("  ", "bad_path"), ("a\0b", "bad_path"), ("in.txt\0.png/", "bad_path"), ("x" * 256, "bad_path"),
     ("x/" * 3000, "bad_path"), ("\ud800", "bad_path"), (".", "is_a_folder"), ("sub", "is_a_folder"), ("sub/", "is_a_folder"),
     ("in.txt/", "is_a_folder"), ("in.txt/x", "file_not_found")],
)  # fmt: skip
def test_nonsense_is_the_callers_mistake(ground: Path, path: str, code: str) -> None:
    for name in ("read", "write", "edit"):
        with expect_refusal("invalid_arguments", code):
            call(ground, name, path)


def test_only_plain_files_are_opened(ground: Path) -> None:
    """A pipe that nobody writes to would wait for ever."""
    os.mkfifo(ground / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(ground / "sock"))
        for name in ("read", "write", "edit"):
            for path in ("pipe", "sock"):
                with expect_refusal("sandbox_violation", "special_file"):
                    call(ground, name, path)
    with expect_refusal("sandbox_violation", "special_file"):
        run(ground, "read", {"allowed_roots": ["/dev"]}, file_path="/dev/zero")


@pytest.mark.parametrize(
    "path",
    [".ferrule/keys/ledger.key", ".ferrule/new", ".ferrule", "ferrule.toml", "policy.toml", "ferrule.pub",
     "sub/../.ferrule/keys/ledger.key",
     "keys/ledger.key", "settings", "hard", "ledger/main.db"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_what_is_ferrules_own_is_never_touched(ground: Path, name: str, path: str) -> None:
    """Keys, ledger, settings and policy, however they are reached; a policy that is not there yet cannot be made."""
    (ground / ".ferrule" / "keys").mkdir(parents=True)
    (ground / ".ferrule" / "keys" / "ledger.key").write_text("inside")
    (ground / "ferrule.toml").write_text("inside")
    (ground / "keys").symlink_to(".ferrule/keys")
    (ground / "settings").symlink_to("ferrule.toml")
    os.link(ground / "ferrule.toml", ground / "hard")
    with expect_refusal("sandbox_violation", "path_protected"):
        call(ground, name, path, protected=["ledger/main.db"])
    if path in ("policy.toml", ".ferrule"):
        with expect_refusal("sandbox_violation", "path_protected"):
            call(ground, name, str(ground / path.upper()))
    assert (ground / "ferrule.toml").read_text() == "inside"
    assert (ground / ".ferrule" / "keys" / "ledger.key").read_text() == "inside"
    assert not (ground / "policy.toml").exists() and not (ground / ".ferrule" / "new").exists()


def test_a_folder_above_the_workspace_does_not_open_what_is_protected(ground: Path) -> None:
    (ground / "ferrule.toml").write_text("x")
    config = {"allowed_roots": [".."]}
    assert run(ground, "read", config, file_path="../outside/secret.txt")["content"] == SECRET
    with expect_refusal("sandbox_violation", "path_protected"):
        run(ground, "read", config, file_path="ferrule.toml")
    with expect_refusal("sandbox_violation", "path_protected"):
        run(ground, "read", {"allowed_roots": [".ferrule"]}, file_path=".ferrule/ledger.db")


def test_several_roots_and_the_environment(ground: Path) -> None:
    """ADL-22, ADL-24: relative roots and paths start at the workspace."""
    config = {"allowed_roots": ["sub", str(ground.parent / "outside")]}
    assert run(ground, "read", config, file_path="sub/in.txt")["content"] == "inside"
    assert run(ground, "read", config, file_path=str(ground.parent / "outside/secret.txt"))["content"] == SECRET
    with expect_refusal("sandbox_violation", match="sub, .*outside"):
        run(ground, "read", config, file_path="in.txt")
    with expect_refusal("sandbox_violation"):
        run(
            ground, "read", config, file_path="sub/in.txt", environment={"TOOLS_READ_ALLOWED_ROOTS": "elsewhere, other"}
        )
    (ground / "real").symlink_to(ground.parent / "outside")
    assert run(ground, "read", {"allowed_roots": ["real"]}, file_path="real/secret.txt")["content"] == SECRET


def test_a_root_that_became_a_link_after_it_was_named_is_refused(ground: Path) -> None:
    """The owner named a folder, not whatever is put in its place later."""
    (ground / "inner").mkdir()
    (ground / "inner" / "secret.txt").write_text("inside")
    from_settings = {"allowed_roots": ["inner"]}

    def swap() -> None:
        (ground / "inner").rename(ground / "gone")
        (ground / "inner").symlink_to(ground.parent / "outside")

    with pytest.raises(ExecutionFailed) as failed:
        run_after(ground, swap, from_settings, "inner/secret.txt")
    assert failed.value.error_class in ("sandbox_violation", "invalid_arguments")


@given(
    path=st.lists(st.sampled_from(["..", ".", "sub", "in.txt", "out", "abs", "up", "", "deep", "…", "~"]), max_size=8)
)
@settings(max_examples=150, deadline=None)
def test_any_path_reads_inside_or_nothing(world: Path, path: list[str]) -> None:
    try:
        content = run(world, "read", file_path="/".join(path))["content"]
    except ExecutionFailed as failed:
        assert failed.error_class in ("sandbox_violation", "invalid_arguments")
        assert SECRET not in failed.message
    else:
        assert content == "inside"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("any")
    for folder in (base, base / "ws" / "..", base / "outside"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "in.txt").write_text(SECRET)
    workspace = base / "ws"
    (workspace / "sub" / "deep").mkdir(parents=True)
    for folder in (workspace, workspace / "sub", workspace / "sub" / "deep"):
        (folder / "in.txt").write_text("inside")
        (folder / "out").symlink_to(base / "outside")
        (folder / "abs").symlink_to(workspace)
        (folder / "up").symlink_to("..")
    return workspace


@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_a_folder_that_turns_into_a_link_all_the_time_never_leads_outside(ground: Path, name: str) -> None:
    """The race that checking first and opening later would lose."""
    outside = ground.parent / "outside"
    (outside / "in.txt").write_text("inside, but of the other folder")
    racing, swaps = ground / "racing", [0]
    # Made before the race: a file that is still being written reads as empty.
    racing.mkdir()
    (racing / "in.txt").write_text("inside")
    done = threading.Event()

    def swap() -> None:
        aside, link = ground / "aside", ground / "link"
        link.symlink_to(outside)
        while not done.is_set():
            for new in (link, aside):  # the folder, then the link, then the folder again
                os.rename(racing, aside if new is link else link)
                while True:
                    try:
                        os.rename(new, racing)
                        break
                    except OSError:  # `write` made the folder while there was none
                        shutil.rmtree(racing, ignore_errors=True)
                swaps[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(120):
            try:
                result = call(ground, name, "racing/in.txt", old="in", new="in")
            except ExecutionFailed as failed:
                assert failed.error_class in ("sandbox_violation", "invalid_arguments", "execution_failed")
            else:
                assert result.get("content", "inside") in ("inside", "written")
    finally:
        done.set()
        thread.join(10)
    assert swaps[0] > 10
    assert (outside / "in.txt").read_text() == "inside, but of the other folder"
    assert_untouched(ground, extra={"in.txt"})


@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_a_file_that_turns_into_a_link_all_the_time_never_leads_outside(ground: Path, name: str) -> None:
    outside = ground.parent / "outside" / "secret.txt"
    done = threading.Event()

    def swap() -> None:
        link, file = ground / "link", ground / "file"
        while not done.is_set():
            link.symlink_to(outside)
            os.rename(link, ground / "racing")
            file.write_text("inside")
            os.rename(file, ground / "racing")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        while not os.path.lexists(ground / "racing"):
            pass
        for _ in range(120):
            try:
                result = call(ground, name, "racing", old="in", new="in")
            except ExecutionFailed as failed:
                assert failed.error_class in ("sandbox_violation", "invalid_arguments", "execution_failed")
            else:
                assert result.get("content", "inside") in ("inside", "written")
    finally:
        done.set()
        thread.join(10)
    assert_untouched(ground)


def call(ground: Path, name: str, path: str, *, protected: Any = (), old: str = "inside", new: str = "edited") -> Any:
    extra: dict[str, Any] = {
        "read": {}, "write": {"content": "written"}, "edit": {"old_string": old, "new_string": new},
    }[name]  # fmt: skip
    return run(ground, name, file_path=path, options={"protected": protected}, **extra)


def run_after(ground: Path, change: Callable[[], None], config: dict[str, Any], path: str) -> Any:
    """A call of `read` that was prepared before something changed."""

    async def story() -> Any:
        executor = BuiltinExecutor(ground, {}, no_client)
        prepared: Any = executor.prepare(tool("read", **config))
        change()
        try:
            return await prepared({"file_path": path}, Context("inv_1", "ann", None, "default"))
        finally:
            await executor.aclose()

    return asyncio.run(story())


def assert_untouched(ground: Path, extra: Collection[str] = ()) -> None:
    outside = ground.parent / "outside"
    assert {entry.name for entry in outside.iterdir()} == {"secret.txt", *extra}
    assert (outside / "secret.txt").read_text() == SECRET
    assert {entry.name for entry in ground.parent.iterdir()} == {"ws", "ws-too", "outside"}
    assert {entry.name for entry in (ground.parent / "ws-too").iterdir()} == {"secret.txt"}
