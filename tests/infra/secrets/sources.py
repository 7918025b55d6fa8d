"""What the tests of secret stores share: the clouds of an environment, and a secret's value."""

from __future__ import annotations

from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.secrets.aws import AwsSource
from tests.infra.clouds.fixtures import Learned, local_client

VALUE = '{"token": "s3cr3t-ä", "n": 1}'


def make_clouds(env: dict[str, str], *allowed: str) -> Clouds:
    """The clouds as a process with this environment sees them."""
    return Clouds(local_client(*allowed), env, Learned())


def make_aws_source(env: dict[str, str]) -> AwsSource:
    """The store of AWS for such a process."""
    return AwsSource(env, make_clouds(env))
