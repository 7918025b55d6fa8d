"""Whatever a schema says, fitting ends soon, with a result or with Unfit and a reason that says what to do."""

from __future__ import annotations

import msgspec
import pytest

from ferrule.schema.fitting import PROFILES, CannotFit, fit
from tests.cpu_time import least_cpu_seconds
from tests.schema.fitting.hostile import HOSTILE

SECONDS = 1.0
"""Of a processor. What was measured is below 0.2; the rest is for machines that do other things too."""
UNFIT = {"bottomless", "many properties", "many bad names", "a lone surrogate", "wrong inside", "no schema", "false"}
UNFIT |= {"a foreign reference", "a missing reference", "a reference that is no text", "not a mapping", "many branches"}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("profile", PROFILES)
def test_hostile_schemas_end_soon(name: str, profile: str) -> None:
    def work() -> None:
        try:
            fitted = fit(HOSTILE[name], PROFILES[profile])
            assert name not in UNFIT
            assert len(msgspec.json.encode(fitted.schema)) < 10_000_000
        except CannotFit as reason:
            assert str(reason)

    assert least_cpu_seconds(work)[0] < SECONDS


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a missing reference", "properties/a: it refers to #/$defs/nowhere, which is not there; correct the $ref"),
        ("no schema", "properties/a: it is no schema; write an object"),
    ],
)
def test_the_reason_says_where_and_what_to_do(name: str, said: str) -> None:
    with pytest.raises(CannotFit) as caught:
        fit(HOSTILE[name], PROFILES["openai-strict"])
    assert str(caught.value) == said


def test_an_unfit_schema_is_unfit_again() -> None:
    for _ in range(2):
        with pytest.raises(CannotFit):
            fit(HOSTILE["no schema"], PROFILES["openai"])
