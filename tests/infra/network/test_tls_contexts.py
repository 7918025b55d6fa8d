"""Authorities and client certificates of single hosts: real servers that ask for them, and files that cannot be used."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.request import BrokenAnswer, Unreachable, Untrusted
from ferrule.infra.network.tls import TlsContexts
from ferrule.model.upstreams import HostTls
from tests.infra.network.authority import Authority
from tests.infra.network.servers import ok, run, running_site

HOSTS = ("corp.test", "other.test")


def asking(authority: Authority, *hosts: str) -> ssl.SSLContext:
    """What a server shows that wants to know who comes."""
    tls = authority.server(*hosts)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(authority.file)
    return tls


def fetch(tls: TlsContexts, server: ssl.SSLContext, host: str = "corp.test") -> bytes:
    async def story() -> bytes:
        http = Client(Guard(HOSTS, lambda host, port: ["127.0.0.1"]), tls=tls)
        try:
            async with running_site(ok(), server) as there:
                return (await http.fetch("GET", f"https://{host}:{there.port}/")).body
        finally:
            await http.aclose()

    return run(story())


@pytest.fixture
def locked(authority: Authority, tmp_path: Path) -> Path:
    """A certificate of a client in one file and its key, with a password, in another."""
    both = authority.certificate("client.test").read_bytes()
    key = serialization.load_pem_private_key(both, None)
    (tmp_path / "me.pem").write_bytes(both[both.index(b"-----BEGIN CERTIFICATE") :])
    (tmp_path / "me.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"open sesame"),
        )
    )
    return tmp_path


def test_an_authority_counts_for_its_host_alone_or_for_all(authority: Authority, tmp_path: Path) -> None:
    shared = authority.server(*HOSTS)
    one = TlsContexts(hosts={"corp.test": HostTls(ca=str(authority.file))})
    assert fetch(one, shared) == b"hello"
    with pytest.raises(Untrusted, match=r"trust its issuer with ca in \[network\]"):
        fetch(one, shared, "other.test")
    everywhere = TlsContexts(ca=authority.file.name, root=authority.file.parent)
    everywhere.load()
    assert fetch(everywhere, shared) == fetch(everywhere, shared, "other.test") == b"hello"
    stranger = Authority(tmp_path)
    with pytest.raises(Untrusted):  # the authority of a host is the only one for it
        fetch(TlsContexts(ca=str(authority.file), hosts={"corp.test": HostTls(ca=str(stranger.file))}), shared)


def test_a_name_is_still_checked_under_an_authority_of_ones_own(authority: Authority) -> None:
    with pytest.raises(Untrusted, match="not valid for"):
        fetch(TlsContexts(hosts={"corp.test": HostTls(ca=str(authority.file))}), authority.server("else.test"))


def test_a_certificate_is_shown_to_its_host_and_to_no_other(authority: Authority, locked: Path) -> None:
    said = HostTls(ca=str(authority.file), certificate="me.pem", key="me.key", key_password_env="PASSWORD")
    contexts = TlsContexts(
        ca=str(authority.file), hosts={"CORP.test.": said}, root=locked, env={"PASSWORD": "open sesame"}
    )
    contexts.load()
    server = asking(authority, *HOSTS)
    assert fetch(contexts, server) == b"hello"
    with pytest.raises((Unreachable, BrokenAnswer)):
        fetch(contexts, server, "other.test")
    both = HostTls(certificate=str(authority.certificate("client.test")))
    assert fetch(TlsContexts(ca=str(authority.file), hosts={"corp.test": both}), server) == b"hello"


def test_a_port_of_a_host_may_have_its_own(authority: Authority) -> None:
    with pytest.raises(Untrusted):
        fetch(TlsContexts(hosts={"corp.test:1": HostTls(ca=str(authority.file))}), authority.server("corp.test"))


@pytest.mark.parametrize(
    ("said", "words"),
    [(HostTls(ca="nowhere.pem"), r'\[network.tls."corp.test"\] ca: .*nowhere.pem cannot be read: No such file'),
     (HostTls(ca="text.pem"), "there is no certificate in .*text.pem"),
     (HostTls(certificate="nowhere.pem"), "certificate: .*nowhere.pem cannot be read"),
     (HostTls(certificate="me.pem", key="nowhere.key"), "key: .*nowhere.key cannot be read"),
     (HostTls(certificate="me.pem"), "must hold a certificate and its key in PEM"),
     (HostTls(certificate="me.pem", key="me.key"), "does not open with this password; .* key_password_env"),
     (HostTls(certificate="me.pem", key="me.key", key_password_env="WRONG"), "does not open with this password"),
     (HostTls(certificate="me.pem", key="me.key", key_password_env="UNSET"), "environment variable UNSET"),
     (HostTls(certificate="me.pem", key="other.pem"), "does not belong to the certificate")],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_with_its_place(
    authority: Authority, locked: Path, said: HostTls, words: str
) -> None:
    (locked / "text.pem").write_text("hello")
    (locked / "other.pem").write_bytes(authority.certificate("stranger.test").read_bytes())
    contexts = TlsContexts(hosts={"corp.test": said}, root=locked, env={"WRONG": "s3cret-canary"})
    with pytest.raises(SettingsError, match=words) as refused:
        contexts.load()
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [("a b", HostTls(), "names no host"), ("https://corp.test", HostTls(), "names no host"),
     ("corp.test", HostTls(key="me.key"), "a key and no certificate"),
     ("corp.test", HostTls(key_password_env="X"), "a password and no certificate")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_at_once(name: str, said: HostTls, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        TlsContexts(hosts={name: said})


def test_a_check_forgives_what_only_the_calling_machine_has(authority: Authority, locked: Path) -> None:
    ca = str(authority.file)
    away = HostTls(ca=ca, certificate="nowhere.pem", key="nowhere.key", key_password_env="UNSET")
    TlsContexts(hosts={"corp.test": away}, root=locked).check()
    with pytest.raises(SettingsError, match="cannot be read"):
        TlsContexts(hosts={"corp.test": HostTls(ca="nowhere.pem")}, root=locked).check()
    with pytest.raises(SettingsError, match="must hold"):
        TlsContexts(hosts={"corp.test": HostTls(certificate="me.pem")}, root=locked).check()
