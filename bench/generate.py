"""Writes workspaces of realistic definitions: the same seed gives the same bytes on any machine.

python -m bench.generate FOLDER --form aml --count 10000
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from bench.aml import aml_agent, aml_role, aml_tool
from bench.forms import adl_manifest, agent_tool_declaration, oxp_definition
from bench.sketches import FAULTY_PERCENT, SEED, Sketch, sketches

FORMS = ("aml", "oxp", "oxp-catalog", "adl", "agent-tool")
CATALOG_SIZE = 100
"""Tools in one OXP catalog file."""
ADL_TOOLS = 10
"""Tools in one ADL manifest."""
TOOLS_PER_AGENT = 200


def write_workspace(folder: Path, form: str, count: int, *, faulty_percent: int = FAULTY_PERCENT) -> int:
    """Write `count` tools in one form; returns how many mistakes were planted."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ferrule.toml").write_text('namespace = "bench"\n')
    planted = 0
    tools = sketches(count, SEED, faulty_percent)
    match form:
        case "aml":
            planted = _write_aml(folder, tools, count)
        case "oxp":
            for tool in tools:
                planted += tool.is_faulty
                _put(folder / "tools" / f"{tool.slug}.oxp.json", _json(oxp_definition(tool)))
        case "oxp-catalog":
            for number, batch in enumerate(_batches(tools, CATALOG_SIZE)):
                planted += sum(tool.is_faulty for tool in batch)
                text = _json({"tools": [oxp_definition(tool) for tool in batch]})
                _put(folder / "tools" / f"catalog-{number:05d}.json", text)
        case "adl":
            for number, batch in enumerate(_batches(tools, ADL_TOOLS)):
                planted += sum(tool.is_faulty for tool in batch)
                _put(folder / "agents" / f"agent-{number:05d}.yaml", adl_manifest(number, batch))
        case "agent-tool":
            for tool in tools:
                planted += tool.is_faulty
                _put(folder / "tools" / f"{tool.slug}.json", _json(agent_tool_declaration(tool)))
        case _:
            raise ValueError(f"no such form: {form}")
    return planted


def _write_aml(folder: Path, tools: Iterator[Sketch], count: int) -> int:
    planted = 0
    for number, batch in enumerate(_batches(tools, TOOLS_PER_AGENT)):
        for tool in batch:
            planted += tool.is_faulty
            _put(folder / "tools" / f"{tool.slug}.tool.md", aml_tool(tool))
        granted = [tool for tool in batch if not tool.is_faulty][:8]
        if count >= TOOLS_PER_AGENT and granted:
            _put(folder / "iam" / f"role-{number:05d}.iam.md", aml_role(number, granted))
            _put(folder / "agents" / f"agent-{number:05d}.agent.md", aml_agent(number, granted))
    return planted


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _put(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")


def _batches(tools: Iterator[Sketch], size: int) -> Iterator[list[Sketch]]:
    batch: list[Sketch] = []
    for tool in tools:
        batch.append(tool)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--form", choices=FORMS, default="aml")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    planted = write_workspace(options.folder, options.form, options.count)
    print(f"{options.count} tools as {options.form} in {options.folder}, {planted} with a planted mistake")


if __name__ == "__main__":
    main()
