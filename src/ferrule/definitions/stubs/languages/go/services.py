"""Services: a package each, for the tools that are given them."""

from __future__ import annotations

from ferrule.contracts.language import SourceFile
from ferrule.definitions.stubs.languages.go.files import source
from ferrule.definitions.stubs.languages.go.surroundings import Package, Surroundings
from ferrule.definitions.stubs.languages.go.text import aligned, comment


def service_file(package: Package, around: Surroundings) -> SourceFile:
    """The stub of a service (ADL-44)."""
    interface, impl = package.interface, f"{package.name}Impl"
    told = package.service.description or f"{interface} is the service {package.service.name}."
    lines = [
        *comment([told]),
        f"type {interface} interface {{",
        "\t// TODO: say what tools may ask of it.",
        "}",
        "",
        f"type {impl} struct {{",
        *(f"\t{line}" for line in aligned([["logger", "*slog.Logger"], ["config", "*config.Config"]])),
        "}",
        "",
        f"// {package.factory} makes the service.",
        f"func {package.factory}(logger *slog.Logger, cfg *config.Config) ({interface}, error) {{",
        "\t// TODO: open what it needs.",
        f"\treturn &{impl}{{logger: logger, config: cfg}}, nil",
        "}",
    ]
    path = f"internal/{package.folder}/{package.folder}.go"
    return SourceFile(path, source("", package.name, lines, ["log/slog"], [around.config_import]), "yours")
