"""The three clouds, as tests know them."""

from __future__ import annotations

from tests.infra.clouds.fixtures import aws, azure, gcp

__all__ = ["aws", "azure", "gcp"]
