"""The view of a confined program: bubblewrap's options (Linux), and whether bubblewrap works on this machine.

The system read-only and without its settings, one folder of the workspace to work in, a /tmp, /proc and /dev of its
own, no network, no capability, and an unprivileged identity. Nothing else exists inside. It knows no tool.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ferrule.infra.processes.programs import ENVIRONMENT, NoSuchProgram, find_program
from ferrule.infra.processes.protected_files import FOLDER_FLAGS, Covers, Folder, FolderRefused

SandboxMode = Literal["required", "preferred", "off"]

_ISOLATION = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", "1000", "--gid", "1000", "--hostname", "sandbox",
    "--cap-drop", "ALL", "--die-with-parent", "--new-session",
)  # fmt: skip
_NO_NESTING = "--disable-userns"
"""No user namespaces inside, which much of the kernel's attack surface is behind. Bubblewrap 0.8 and later."""
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_STORES = ("/nix/store", "/gnu/store")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf", "mime.types")
_NETWORK_ETC = ("resolv.conf", "hosts", "services", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs")
_IDENTITY = Path(__file__).parent / "identity"
_UNFIT = ("/usr", *_SYSTEM, "/etc", "/run", "/var", "/home", "/root", "/opt", "/boot")
"""Folders that cannot be a workspace; folders below some of them can."""
_UNFIT_TREES = ("/proc", "/dev", "/sys")
_PROBE_SECONDS = 5.0
_REST_OF_MESSAGE = 200


class Bubblewrap(msgspec.Struct, frozen=True):
    """A bubblewrap that works here."""

    program: str
    options: tuple[str, ...] = ()
    """Options beyond those of every version."""


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """How one program is confined."""

    bubblewrap: Bubblewrap
    has_network: bool = False
    is_writable: bool = True
    """True when its working folder is."""
    scratch_bytes: int = 256 * 1024**2
    """Size of its /tmp, and of its shared memory."""


def confine_command(sandbox: Sandbox, folder: Folder, covers: Covers, status_fd: int) -> tuple[str, ...]:
    """Returns the words to put before a program and its limits. Raises FolderRefused for a folder no sandbox can hold."""
    if (
        folder.path == "/"
        or folder.path in _UNFIT
        or folder.path.startswith(tuple(f"{tree}/" for tree in _UNFIT_TREES))
    ):
        raise FolderRefused(f"{folder.path!r} is part of the system; a sandbox works in a folder of its own")
    size = str(sandbox.scratch_bytes)
    return (
        *_base(sandbox.bubblewrap, sandbox.has_network, size),
        "--bind-fd" if sandbox.is_writable else "--ro-bind-fd", str(folder.fd), folder.path,
        *covers.options,
        "--remount-ro", "/",
        "--chdir", folder.path,
        "--json-status-fd", str(status_fd),
        "--",
    )  # fmt: skip


def _base(bubblewrap: Bubblewrap, has_network: bool, size: str) -> tuple[str, ...]:
    # The kernel asks for root's number, not for a capability, before it lets /proc/sys be written. Where Ferrule runs as root
    # the confined program has that number outside, and bubblewrap covers the folder for nobody: so /proc is read-only.
    network = () if has_network else ("--unshare-net",)
    return (
        bubblewrap.program, *_ISOLATION, *network, *bubblewrap.options,
        "--ro-bind", "/usr", "/usr", *_system(), *_etc(has_network),
        "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev",
        "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", size, "--tmpfs", "/tmp",
    )  # fmt: skip


def _system() -> list[str]:
    options: list[str] = []
    for path in _SYSTEM:
        if os.path.islink(path):
            options += ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            options += ("--ro-bind", path, path)
    for path in _STORES:
        options += ("--ro-bind-try", path, path)
    return options


def _etc(has_network: bool) -> list[str]:
    options: list[str] = []
    for name in ("passwd", "group"):
        options += ("--ro-bind", str(_IDENTITY / name), f"/etc/{name}")
    for name in (*_ETC, *(_NETWORK_ETC if has_network else ())):
        options += ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    return options


@cache
def find_bubblewrap() -> Bubblewrap | str:
    """Returns bubblewrap as it works here, or why it does not. Tried once, by confining a program; blocks for that
    long."""
    try:
        program = find_program("bwrap")
    except NoSuchProgram:
        return "bubblewrap (bwrap) is not installed"
    reason = ""
    # Older versions lack the stricter option, so it is tried first.
    for options in ((_NO_NESTING,), ()):
        found = Bubblewrap(program, options)
        reason = _why_not(found)
        if not reason:
            return found
    return f"bubblewrap does not work on this machine ({reason})"


def _why_not(bubblewrap: Bubblewrap) -> str:
    fd = os.open("/usr", FOLDER_FLAGS)
    words = (
        *_base(bubblewrap, False, "65536"), "--ro-bind-fd", str(fd), "/mnt", "--remount-ro", "/", "--", "/usr/bin/env", "true",
    )  # fmt: skip
    try:
        tried = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, env=dict(ENVIRONMENT), pass_fds=(fd,),
            timeout=_PROBE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    finally:
        os.close(fd)
    said = tried.stderr.decode(errors="replace").strip()[:_REST_OF_MESSAGE]
    return "" if tried.returncode == 0 else said or f"exit code {tried.returncode}"
