"""Settings of the agent file as structs, with what the environment says in place of `$NAME` and `${NAME}`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ferrule.contracts.language import SourceFile
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import (
    GENERATED,
    document_lines,
    name_members,
    write_assignment,
    write_literal,
)
from ferrule.definitions.stubs.surroundings import SectionNames, has_variables, split_setting
from ferrule.model.value import JsonValue

_I64 = 2**63


def write_config(around: RustSurroundings) -> SourceFile:
    """Writes `src/config.rs`."""
    sections = around.sections.values()
    members = [(each.field, each.type, f"{each.type}::from_env()") for each in sections]
    structs = "\n".join([_write_struct("Config", "All settings.", members), *map(_write_section, sections)])
    variable = _VARIABLE_OF if any(has_variables(dict(each.section.settings)) for each in sections) else ""
    about = "//! Settings of the agent file. `$NAME` in them is a variable of the environment."
    return SourceFile("src/config.rs", f"{GENERATED}\n{about}\n\n{structs}{variable}", "generated")


_VARIABLE_OF = """
/// What the environment says; a variable that is not set or empty is the other text.
fn variable(name: &str, otherwise: &str) -> String {
    let value = std::env::var(name).unwrap_or_default();
    if value.is_empty() {
        return otherwise.to_string();
    }
    value
}
"""


def _write_struct(name: str, words: str, members: Sequence[tuple[str, str, str]]) -> str:
    declared = "".join(write_assignment(f"pub {field}:", kind, ",", 4) for field, kind, _ in members)
    made = "".join(write_assignment(f"{field}:", value, ",", 12) for field, _, value in members)
    body, value = (f" {{\n{declared}}}", f"{name} {{\n{made}        }}") if members else (" {}", f"{name} {{}}")
    return f"""/// {words}
#[derive(Debug, Clone, PartialEq)]
pub struct {name}{body}

impl {name} {{
    /// The settings, with what the environment says now.
    pub fn from_env() -> Self {{
        {value}
    }}
}}
"""


def _write_section(names: SectionNames) -> str:
    settings = names.section.settings
    fields = name_members(settings)
    members = [(fields[key], *_write_setting(value)) for key, value in settings.items()]
    return _write_struct(names.type, f"The settings of {' '.join(document_lines(names.section.name))}.", members)


def _write_setting(value: JsonValue) -> tuple[str, str]:
    """Returns the type of a setting, and the expression that gives it."""
    match value:
        case bool():
            return "bool", json.dumps(value)
        case int() if -_I64 <= value < _I64:
            return "i64", str(value)
        case float():
            return "f64", repr(value)
        case str():
            return "String", _write_text(value)
        case _:
            return "serde_json::Value", f"serde_json::json!({_write_json(value)})"


def _write_text(text: str) -> str:
    """Writes a text with the environment's part of it."""
    parts = [
        write_literal(each)
        if isinstance(each, str)
        else f"&variable({write_literal(each.name)}, {write_literal(each.otherwise or '')})"
        for each in split_setting(text)
    ]
    if len(parts) > 1:
        return f"[{', '.join(parts)}].concat()"
    return parts[0].removeprefix("&") if parts[0].startswith("&") else f"{parts[0]}.to_string()"


def _write_json(value: JsonValue) -> str:
    match value:
        case dict():
            return (
                f"{{ {', '.join(f'{write_literal(name)}: {_write_json(each)}' for name, each in value.items())} }}"
                if value
                else "{}"
            )
        case list():
            return f"[{', '.join(map(_write_json, value))}]"
        case str():
            return _write_text(value)
        case int() if not -_I64 <= value < _I64 and not isinstance(value, bool):
            return repr(float(value))
        case _:
            return json.dumps(value)
