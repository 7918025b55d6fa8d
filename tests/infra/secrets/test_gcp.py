"""Secrets of Google Secret Manager, read as this process and checked by their checksum (AML-62, AML-63)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.secrets.gcp import GcpSource, crc32c
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.clouds.google import Google
from tests.infra.secrets.sources import VALUE, make_clouds


@in_event_loop
async def test_a_secret_of_google_is_read_and_its_checksum_checked(gcp: Google, tmp_path: Path) -> None:
    """AML-63: `latest` unless a version is written."""
    gcp.secrets = {"acme/api/latest": VALUE.encode(), "acme/api/3": b"third", "acme/bytes/latest": b"\xff"}
    env = gcp.environment(tmp_path / "key.json")
    source = GcpSource(env, make_clouds(env))
    assert await source.fetch(SecretRef(source="gcp_secret_manager", project="acme", secret="api")) == VALUE
    third = SecretRef(source="gcp_secret_manager", project="acme", secret="api", version="3")
    assert await source.fetch(third) == "third"
    assert sum(path == "/token" for path in gcp.far.paths()) == 1
    with pytest.raises(SecretUnavailable, match="no text"):
        await source.fetch(SecretRef(source="gcp_secret_manager", project="acme", secret="bytes"))
    gcp.checksum = "12345"
    with pytest.raises(SecretUnavailable, match="checksum") as caught:
        await source.fetch(third)
    assert not caught.value.is_final


@in_event_loop
async def test_names_of_google_cannot_lead_elsewhere(gcp: Google, tmp_path: Path) -> None:
    env = gcp.environment(tmp_path / "key.json")
    odd = SecretRef(source="gcp_secret_manager", project="acme", secret="../../v2/x?y#z", version="1")
    with pytest.raises(SecretUnavailable) as caught:
        await GcpSource(env, make_clouds(env)).fetch(odd)
    assert gcp.far.paths()[-1] == "/v1/projects/acme/secrets/..%2F..%2Fv2%2Fx%3Fy%23z/versions/1:access"
    assert caught.value.is_final and caught.value.reference == "http:404"


def test_the_checksum_is_the_one_of_its_standard() -> None:
    """The vectors of RFC 3720, appendix B.4."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
