"""Settings of an agent file in Go: the type and the expression of each value, and what fills them in."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Section
from ferrule.definitions.stubs.languages.go.settings import find_type, write_config, write_value
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.model.value import JsonValue
from tests.definitions.stubs.languages.plans import plan_of


@pytest.mark.parametrize(
    ("value", "kind", "expression"),
    [
        (True, "bool", "true"),
        ("a", "string", '"a"'),
        ("${HOME}/x", "string", 'env("HOME") + "/x"'),
        ("a ${X:-1}${Y-}b $Z", "string", '"a " + env("X", "1") + env("Y", "") + "b $Z"'),
        ("costs $5", "string", '"costs $5"'),
        (3, "int64", "3"),
        (2**70, "json.Number", f'json.Number("{2**70}")'),
        (1.5, "float64", "1.5"),
        (None, "any", "nil"),
        ([1, 2], "[]int64", "[]int64{1, 2}"),
        ([1, 2.5], "[]float64", "[]float64{1, 2.5}"),
        (["$A", "b"], "[]string", '[]string{env("A"), "b"}'),
        ([1, "a"], "[]any", '[]any{1, "a"}'),
        ([{"a": "$B"}], "[]map[string]any", '[]map[string]any{map[string]any{"a": env("B")}}'),
        ([], "[]any", "[]any{}"),
        ({}, "map[string]any", "map[string]any{}"),
    ],
)
def test_a_setting_has_a_type_and_an_expression(value: JsonValue, kind: str, expression: str) -> None:
    assert (find_type(value), write_value(value)) == (kind, expression)


def test_groups_within_groups_are_structs_of_their_own() -> None:
    mail = Section(name="mail", settings={"sender": "a", "server": {"port": 25}})
    file = write_config(GoSurroundings(plan_of(project=Project(name="x", version="1", sections=(mail,)))))
    assert (file.path, file.standing) == ("config/config_gen.go", "generated")
    assert "type MailServerConfig struct {\n\tPort int64\n}" in file.text
    assert "\tcfg.Mail.Server.Port = 25\n" in file.text
    assert "env" not in file.text.replace("environment", "")


def test_what_has_to_be_filled_in_brings_what_does_it() -> None:
    mail = Section(name="mail", settings={"sender": "${SENDER}"})
    file = write_config(GoSurroundings(plan_of(project=Project(name="x", version="1", sections=(mail,)))))
    assert "\tenv := func(" in file.text
    assert '\tcfg.Mail.Sender = env("SENDER")\n' in file.text
