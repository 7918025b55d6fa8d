"""Writes the settings of an agent file as a struct for each group of them, and what fills them in from the environment."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.contracts.language import SourceFile
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.names import exported_style, take_name
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.definitions.stubs.languages.go.text import SHARED, quote, write_source, write_struct
from ferrule.definitions.stubs.languages.go.types import INT
from ferrule.definitions.stubs.surroundings import Variable, has_variables, split_setting
from ferrule.model.value import JsonValue

PACKAGE = "config"
_ENVIRONMENT = """\
	missing := map[string]bool{}
	env := func(name string, otherwise ...string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		if len(otherwise) == 0 && !missing[name] {
			missing[name] = true
			logger.Warn("a setting is empty, because its environment variable is not set", "variable", name)
		}
		return strings.Join(otherwise, "")
	}"""


def write_config(around: GoSurroundings) -> SourceFile:
    """Writes the settings as types, and what sets them as the agent file says."""
    groups = _Groups(around)
    rows = []
    for section in around.project.sections:
        kind = around.sections[section.name]
        rows.append([kind.field, kind.type])
        groups.add(kind.type, f"cfg.{kind.field}", section.settings)
    lines = [
        "// Config is all settings.",
        *write_struct("Config", rows),
        *groups.types,
        "// Load gives the settings of the definitions, with what the environment says.",
        "func Load(logger *slog.Logger) *Config {",
        *(_ENVIRONMENT.split("\n") if groups.reads_environment else []),
        "\tcfg := &Config{}",
        *groups.sets,
        "\treturn cfg",
        "}",
    ]
    return SourceFile("config/config_gen.go", write_source(SHARED, PACKAGE, lines), "generated")


class _Groups:
    """The groups of settings, and those within them."""

    def __init__(self, around: GoSurroundings) -> None:
        self.types: list[str] = []
        self.sets: list[str] = []
        self.reads_environment = False
        self._style = exported_style(around.acronyms)
        self._taken = {"Config", "Load", *(each.type for each in around.sections.values())}

    def add(self, name: str, place: str, settings: Mapping[str, JsonValue]) -> None:
        """Writes a struct, and what sets its fields. `place` is where a value of it stands."""
        names = identifiers(settings, self._style)
        inner: list[tuple[str, str, Mapping[str, JsonValue]]] = []
        rows: list[list[str]] = []
        for setting, value in settings.items():
            field = names[setting]
            if isinstance(value, dict) and value:
                go = take_name(f"{name.removesuffix('Config')}{field}Config", self._taken)
                inner.append((go, f"{place}.{field}", value))
            else:
                go = find_type(value)
                self.reads_environment |= has_variables(value)
                self.sets.append(f"\t{place}.{field} = {write_value(value)}")
            rows.append([field, go])
        self.types += [f"// {name} is a group of settings.", *write_struct(name, rows)]
        for each in inner:
            self.add(*each)


def find_type(value: JsonValue) -> str:
    """Returns the type of a setting that is no group. Lists have one where all their items have the same."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64" if value in INT else "json.Number"
        case float():
            return "float64"
        case dict():
            return "map[string]any"
        case list() if value:
            inner = {find_type(each) for each in value}
            inner = {"float64"} if inner == {"int64", "float64"} else inner
            return f"[]{inner.pop()}" if len(inner) == 1 else "[]any"
        case list():
            return "[]any"
        case _:
            return "any"


def write_value(value: JsonValue) -> str:
    """Writes a setting as an expression of its type."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _write_text(value)
        case None:
            return "nil"
        case int():
            return str(value) if value in INT else f'json.Number("{value}")'
        case list():
            return f"{find_type(value)}{{{', '.join(map(write_value, value))}}}"
        case dict():
            pairs = ", ".join(f"{quote(name)}: {write_value(each)}" for name, each in value.items())
            return f"map[string]any{{{pairs}}}"
        case _:
            return repr(value)


def _write_text(text: str) -> str:
    """Writes a text, put together where the environment says parts of it."""
    return " + ".join(quote(each) if isinstance(each, str) else _read(each) for each in split_setting(text))


def _read(variable: Variable) -> str:
    otherwise = "" if variable.otherwise is None else f", {quote(variable.otherwise)}"
    return f"env({quote(variable.name)}{otherwise})"
