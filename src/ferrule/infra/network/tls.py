"""The TLS context for each host: its authorities, and the certificate we present.

The system's authorities count everywhere, and `ca` of the settings besides. A host may have an authority of its own,
which then is the only one, and may get a client's certificate. Contexts are made once for a process.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from ferrule.errors import SettingsError
from ferrule.infra.network.guard import parse_entry
from ferrule.infra.network.urls import Target
from ferrule.model.upstreams import HostTls

_EVERYWHERE = "[network] ca"


class TlsContexts:
    """The contexts of one process; they serve any number of clients."""

    def __init__(
        self,
        usual: ssl.SSLContext | None = None,
        *,
        ca: str = "",
        hosts: Mapping[str, HostTls] | None = None,
        root: Path = Path(),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`usual`: for hosts without settings. `ca`: a file of authorities for all of them; `hosts`: by host or
        `host:port`. Files are relative to `root`. Raises SettingsError for invalid hosts."""
        self._usual = _offer_http1(usual) if usual is not None else None
        self._ca = ca
        self._root = root
        self._env = env or {}
        self._hosts: dict[tuple[str, int | None], tuple[str, HostTls]] = {}
        self._made: dict[str, ssl.SSLContext] = {}
        for name, said in (hosts or {}).items():
            key = parse_entry(name)
            if key is None:
                raise SettingsError(f"[network.tls.{name!r}] names no host; write a host, or host:port")
            if said.key and not said.certificate:
                raise SettingsError(f'[network.tls."{name}"] has a key and no certificate; say certificate too')
            if said.key_password_env and not said.certificate:
                raise SettingsError(f'[network.tls."{name}"] has a password and no certificate; say certificate too')
            self._hosts[key] = (name, said)

    def find(self, target: Target) -> ssl.SSLContext:
        """Returns the context for a target. Raises SettingsError for unusable files."""
        named = self._hosts.get((target.host, target.port)) or self._hosts.get((target.host, None))
        if named is not None:
            name, said = named
            if name not in self._made:
                self._made[name] = self._of_host(name, said)
            return self._made[name]
        if self._usual is None:
            self._usual = self._general()
        return self._usual

    def load(self) -> None:
        """Reads every file of the settings. Raises SettingsError for an unusable one."""
        if self._ca:
            self._usual = self._usual or self._general()
        for name, said in self._hosts.values():
            self._made[name] = self._of_host(name, said)

    def check(self) -> None:
        """Checks the settings on a machine that makes no calls: certificates and keys of a client may be missing,
        authorities may not. Raises SettingsError."""
        if self._ca:
            self._general()
        for name, said in self._hosts.values():
            there = all((self._root / file).exists() for file in (said.certificate, said.key or said.certificate))
            is_known = not said.key_password_env or said.key_password_env in self._env
            self._of_host(name, said if there and is_known else HostTls(ca=said.ca))

    def _general(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._ca:
            self._trust(context, self._ca, _EVERYWHERE)
        return _offer_http1(context)

    def _of_host(self, name: str, said: HostTls) -> ssl.SSLContext:
        where = f'[network.tls."{name}"]'
        if said.ca:
            # Without the system's authorities: a host's own `ca` is the only one.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._trust(context, said.ca, f"{where} ca")
        else:
            context = self._general()
        if said.certificate:
            self._show(context, said, where)
        return _offer_http1(context)

    def _trust(self, context: ssl.SSLContext, file: str, where: str) -> None:
        path = self._root / Path(file).expanduser()
        try:
            context.load_verify_locations(cafile=str(path))
        except ssl.SSLError:
            raise SettingsError(f"{where}: there is no certificate in {path}; it must hold them in PEM") from None
        except OSError as error:
            raise SettingsError(f"{where}: {path} cannot be read: {error.strerror}") from None

    def _show(self, context: ssl.SSLContext, said: HostTls, where: str) -> None:
        certificate = self._root / Path(said.certificate).expanduser()
        key = self._root / Path(said.key).expanduser() if said.key else certificate
        for what, path in (("certificate", certificate), ("key", key)):
            try:
                is_encrypted = b"ENCRYPTED" in path.read_bytes()
            except OSError as error:
                raise SettingsError(f"{where} {what}: {path} cannot be read: {error.strerror}") from None
        password = self._env.get(said.key_password_env, "") if said.key_password_env else ""
        if said.key_password_env and not password:
            raise SettingsError(
                f"{where}: set the password of the key in the environment variable {said.key_password_env}"
            )
        try:
            # Without a password of ours the library would ask at the terminal.
            context.load_cert_chain(certificate, key, password=lambda: password)
        except ssl.SSLError as error:
            raise SettingsError(f"{where}: {_why(error, certificate, key, is_encrypted=is_encrypted)}") from None


def _why(error: ssl.SSLError, certificate: Path, key: Path, *, is_encrypted: bool) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key} does not belong to the certificate in {certificate}"
    if is_encrypted:
        return f"the key in {key} does not open with this password; name the variable that holds it in key_password_env"
    return f"{certificate} and {key} must hold a certificate and its key in PEM"


def _offer_http1(context: ssl.SSLContext) -> ssl.SSLContext:
    # The client speaks no other version: a server must not choose HTTP/2 (decision 0019).
    context.set_alpn_protocols(["http/1.1"])
    return context
