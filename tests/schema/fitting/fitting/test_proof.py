"""Any schema, every provider: what fits the original can be said, is turned back exactly, and breaks no rule of the provider."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema_rs
import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ferrule.schema.fitting import PROFILES, CannotFit, Profile, Step, decode, encode, fit
from ferrule.schema.fitting.steps import Wrapped
from tests.schema.fitting.obedience import offences
from tests.schema.fitting.schemas import arguments, schema_of

STEPS = msgspec.json.Decoder(tuple[Step, ...])


@settings(
    derandomize=True,
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(st.integers(0, 2**32))
def test_what_fits_the_original_can_be_said_and_turned_back(seed: int) -> None:
    chance = Random(seed)
    for _ in range(20):
        check(schema_of(chance))


def check(schema: dict[str, Any]) -> None:
    """Holds one schema against every provider."""
    values = arguments(schema, 12)
    for profile in PROFILES.values():
        try:
            fitted = fit(schema, profile)
        except CannotFit as reason:
            assert _may_be_unfit(str(reason), schema), (profile.name, str(reason))
            continue
        assert not (found := offences(fitted.schema, profile)), (profile.name, found, fitted.schema)
        validator = _reader(fitted.schema, profile)
        steps = STEPS.decode(msgspec.json.encode(fitted.steps))
        is_wrapped = bool(steps) and isinstance(steps[0], Wrapped)
        for value in values:
            if not is_wrapped and not isinstance(value, dict):
                continue  # arguments are always an object, where an object is taken at all
            answer = encode(steps, value)
            assert validator.is_valid(answer), (profile.name, fitted.schema, value, answer)
            assert _same(decode(steps, answer), value), (
                profile.name,
                fitted.schema,
                value,
                answer,
                decode(steps, answer),
            )


def _may_be_unfit(reason: str, schema: dict[str, Any]) -> bool:
    if "no arguments at all" in reason:
        return not any(isinstance(value, dict) for value in arguments(schema, 30))
    return "takes at most" in reason or "too many schemas" in reason or "parts" in reason


def _reader(schema: dict[str, Any], profile: Profile) -> Any:
    """A validator that reads a schema as the provider does."""
    if profile.nullable == "nullable":
        schema = _plain(schema)
    if profile.draft == 7:
        return jsonschema_rs.Draft7Validator(schema, validate_formats=False)
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=False)


def _plain(schema: Any) -> Any:
    """`nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {word: _plain(said) for word, said in schema.items() if word != "nullable" or said is not True}
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") is True else plain


def _same(one: Any, other: Any) -> bool:
    return msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted")
