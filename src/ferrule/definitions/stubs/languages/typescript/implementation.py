"""Writes what a person fills in: the file of a tool and the beginning of its test (ADL-41, ADL-45)."""

from __future__ import annotations

from collections import defaultdict

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs.languages.typescript.surroundings import MakerParameter
from ferrule.definitions.stubs.languages.typescript.text import write_import, write_list

_TEST = """\
import assert from "node:assert/strict";
import { test } from "node:test";

import { loadConfig } from "../src/config.js";
IMPORT
const toolBox = buildToolBox(console, loadConfig(console));
const call = { signal: AbortSignal.timeout(5000), report: console.debug };

test("it refuses what is no input", async () => {
  await assert.rejects(toolBox.call(definition.name, null, call));
});

test("it does its work", { todo: "what it should give" }, async () => {
  assert.ok(await toolBox.call(definition.name, {}, call));
});
"""


def write_implementation(tool: ToolPlan, dependencies: list[MakerParameter]) -> str:
    """Returns the file of a tool, which a person writes."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for each in dependencies:
        wanted[each.source].append(f"type {each.type}")
    imports = [write_import(sorted(names), f"../{source}.js") for source, names in sorted(wanted.items())]
    imports.append(write_import([f"type {tool.type_name}Tool"], f"./generated/{tool.stem}.js"))
    parameters = [f"{each.name}: {each.type}" for each in dependencies]
    begins = write_list(f"export function create{tool.type_name}Tool(", parameters, f"): {tool.type_name}Tool {{")
    return (
        f"{''.join(imports)}\n/** Makes the tool. */\n{begins}  return async (input, call) => {{\n"
        "    // TODO: do the work instead. `call.signal` tells when nobody waits any more.\n"
        '    throw new Error("not implemented yet");\n  };\n}\n'
    )


def write_test(tool: ToolPlan, variable: str) -> str:
    """Returns the beginning of a tool's test."""
    definition = write_import([f"{variable}Definition as definition"], f"../src/tools/generated/{tool.stem}.js")
    return _TEST.replace("IMPORT", definition + write_import(["buildToolBox"], "../src/tools/index.js"))
