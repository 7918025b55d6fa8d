"""Settings of the agent file as structs, with what the environment says in place of `$NAME` and `${NAME}`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ferrule.contracts.language import Section, SourceFile, StubPlan
from ferrule.definitions.stubs.languages.rust.injection import section_fields, section_types
from ferrule.definitions.stubs.languages.rust.text import GENERATED, assigned, lines, literal, member_names
from ferrule.model.value import JsonValue

_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}", re.ASCII)
_WHOLE_VARIABLE = re.compile(r"\$(\w+)", re.ASCII)
_I64 = 2**63


def config_file(plan: StubPlan) -> SourceFile:
    """`src/config.rs`."""
    fields, types = section_fields(plan.project), section_types(plan.project)
    sections = [_section(each, types[each.name]) for each in plan.project.sections]
    members = [
        (fields[each.name], types[each.name], f"{types[each.name]}::from_env()") for each in plan.project.sections
    ]
    structs = "\n".join([_struct("Config", "All settings.", members), *sections])
    variable = _VARIABLE_OF if 'variable("' in structs else ""
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


def _struct(name: str, words: str, members: Sequence[tuple[str, str, str]]) -> str:
    declared = "".join(assigned(f"pub {field}:", kind, ",", 4) for field, kind, _ in members)
    made = "".join(assigned(f"{field}:", value, ",", 12) for field, _, value in members)
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


def _section(section: Section, name: str) -> str:
    fields = member_names(section.settings)
    members = [(fields[key], *_setting(value)) for key, value in section.settings.items()]
    return _struct(name, f"The settings of {' '.join(lines(section.name))}.", members)


def _setting(value: JsonValue) -> tuple[str, str]:
    """The type of a setting, and the expression that gives it."""
    match value:
        case bool():
            return "bool", json.dumps(value)
        case int() if -_I64 <= value < _I64:
            return "i64", str(value)
        case float():
            return "f64", repr(value)
        case str():
            return "String", _text(value)
        case _:
            return "serde_json::Value", f"serde_json::json!({_json(value)})"


def _text(text: str) -> str:
    """A text with what the environment says in place of `${NAME}` and `${NAME:-default}`, or of `$NAME` where it is all of it."""
    if whole := _WHOLE_VARIABLE.fullmatch(text):
        return f'variable({literal(whole[1])}, "")'
    parts, at = [], 0
    for found in _VARIABLE.finditer(text):
        parts += [literal(text[at : found.start()])] if found.start() > at else []
        parts.append(f"&variable({literal(found[1])}, {literal(found[2] or '')})")
        at = found.end()
    if not parts:
        return f"{literal(text)}.to_string()"
    parts += [literal(text[at:])] if at < len(text) else []
    return parts[0].lstrip("&") if len(parts) == 1 else f"[{', '.join(parts)}].concat()"


def _json(value: JsonValue) -> str:
    match value:
        case dict():
            return (
                f"{{ {', '.join(f'{literal(name)}: {_json(each)}' for name, each in value.items())} }}"
                if value
                else "{}"
            )
        case list():
            return f"[{', '.join(map(_json, value))}]"
        case str():
            return _text(value)
        case int() if not -_I64 <= value < _I64 and not isinstance(value, bool):
            return repr(float(value))
        case _:
            return json.dumps(value)
