"""TLS goes by the name that was asked for, over a connection to the address that was checked."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ferrule.infra.network.http import exchange
from ferrule.infra.network.urls import parse_url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of `files.test` and 127.0.0.1, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "files.test")])
    names = x509.SubjectAlternativeName([x509.DNSName("files.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@contextmanager
def secure_site(certificate: Path, names: list[str | None]) -> Iterator[int]:
    """A server with TLS; keeps the names that clients asked for. Gives its port."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.sni_callback = lambda sock, name, context: names.append(name)

    def serve() -> None:
        while True:
            try:
                plain, _ = server.accept()
            except OSError:
                return
            try:
                with tls.wrap_socket(plain, server_side=True) as peer:
                    peer.recv(65536)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsafe")
            except OSError:
                continue

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def get(url: str, certificate: Path | None) -> bytes:
    tls = None if certificate is None else ssl.create_default_context(cafile=str(certificate))

    async def story() -> bytes:
        async with asyncio.timeout(10), exchange("GET", parse_url(url), ["127.0.0.1"], {}, tls) as answer:
            return b"".join([piece async for piece in answer.body])

    return asyncio.run(story())


def test_the_certificate_must_be_the_names_and_the_address_the_checked_one(certificate: Path) -> None:
    names: list[str | None] = []
    with secure_site(certificate, names) as port:
        assert get(f"https://files.test:{port}/", certificate) == b"safe"
        assert get(f"https://127.0.0.1:{port}/", certificate) == b"safe"
        with pytest.raises(ssl.SSLCertVerificationError):
            get(f"https://other.test:{port}/", certificate)
        with pytest.raises(ssl.SSLCertVerificationError):
            get(f"https://files.test:{port}/", None)
    assert names[0] == "files.test" and "other.test" in names


def test_the_next_address_is_tried_when_one_does_not_answer(certificate: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")

        thread = threading.Thread(target=serve)
        thread.start()

        async def story() -> bytes:
            target = parse_url(f"http://two.test:{port}/")
            async with asyncio.timeout(10), exchange("GET", target, ["127.0.0.2", "127.0.0.1"], {}) as answer:
                return b"".join([piece async for piece in answer.body])

        assert asyncio.run(story()) == b"hello"
        thread.join(10)
