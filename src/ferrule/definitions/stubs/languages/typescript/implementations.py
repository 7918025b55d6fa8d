"""What a person fills in: the file of a tool and the beginning of its test (ADL-41, ADL-45)."""

from __future__ import annotations

from collections import defaultdict

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs.languages.typescript.definitions import output_type
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependency
from ferrule.definitions.stubs.languages.typescript.layout import LINE, Group, Indent, laid_out
from ferrule.definitions.stubs.languages.typescript.parts import call, imported, signature, statement, unused
from ferrule.definitions.stubs.languages.typescript.text import string

_MAKING = """\
  return createTool({
    name: definition.name,
    title: definition.title,
    description: definition.description,
    parameters: definition.parameters,
    output: definition.output,
    execute: async (args: string, call: ToolCall): Promise<string> =>
      definition.encodeOutput(await run(definition.decodeInput(args), call)),
  });
"""
_TEST = """\
import assert from "node:assert/strict";
import { test } from "node:test";

import { loadConfig } from "../src/config.js";
import { quietLogger } from "../src/ferrule/logger.js";
import { definition } from "../src/tools/generated/STEM.js";
import { buildToolBox } from "../src/tools/index.js";

const tool = buildToolBox(quietLogger(), loadConfig()).get(definition.name);

test("the tool is there", () => {
  assert.equal(tool?.description, definition.description);
});

test("it refuses what is no input", async () => {
  await assert.rejects(async () => tool?.execute("no JSON"));
});

test("it does its work", { todo: "what it should give" }, async () => {
  const input = definition.decodeInput("{}");
  const result = await tool?.execute(definition.encodeInput(input));
  assert.ok(definition.decodeOutput(result ?? ""));
});
"""


def implementation(tool: ToolPlan, dependencies: list[Dependency]) -> str:
    """The file of a tool that a person writes."""
    return "\n".join((_imports(tool, dependencies), _contract(tool), _function(tool, dependencies)))


def _imports(tool: ToolPlan, dependencies: list[Dependency]) -> str:
    wanted: dict[str, list[str]] = defaultdict(list)
    for each in dependencies:
        wanted[each.source].append(each.imported)
    shared = ["createTool", *(["NotImplementedError"] if _is_unknown(tool) else [])]
    shared += [f"type {name}" for name in sorted({*wanted.pop("ferrule/tool", []), "Tool", "ToolCall"})]
    types = [f"{tool.type_name}Contract", tool.input.root.name]
    types += [tool.output.root.name] if tool.output is not None else []
    lines = [imported(shared, "../ferrule/tool.js")]
    lines += [imported(sorted(names), f"../{source}.js", is_type=True) for source, names in sorted(wanted.items())]
    generated = ["definition", *(f"type {name}" for name in sorted(types))]
    return "".join((*lines, imported(generated, f"./generated/{tool.stem}.js")))


def _is_unknown(tool: ToolPlan) -> bool:
    return tool.output is not None and tool.placeholder is None


def _contract(tool: ToolPlan) -> str:
    left = f"export const contract: {tool.type_name}Contract ="
    return (
        "/**\n"
        " * What this file was written for. When the input or the output of the tool\n"
        " * changes, this line does not compile any more. Then look at\n"
        f" * ./generated/{tool.stem}.ts, mend the code below, and write the new digits.\n"
        " */\n"
    ) + statement(Group([left, Group(Indent([LINE, f'"{tool.contract}"']))]), 0)


def _function(tool: ToolPlan, dependencies: list[Dependency]) -> str:
    parameters = [f"{each.name}: {each.type}" for each in dependencies]
    inputs = [f"input: {tool.input.root.name}", "call: ToolCall"]
    return "".join(
        (
            "/** Makes the tool. */\n",
            signature(f"export function create{tool.type_name}Tool", parameters, "Tool"),
            signature("async function run", inputs, f"Promise<{output_type(tool)}>", 2),
            "    // TODO: do the work instead. `call.signal` tells when nobody waits any more.\n",
            unused([*(each.name for each in dependencies), "input", "call"], 4),
            _body(tool),
            "  }\n\n",
            _MAKING,
            "}\n",
        )
    )


def _body(tool: ToolPlan) -> str:
    if tool.output is None:
        return "    return { not_implemented: definition.name };\n"
    if tool.placeholder is None:
        return "    throw new NotImplementedError(definition.name);\n"
    text = bytes(tool.placeholder).decode()
    return laid_out(["return ", call("definition.decodeOutput", [string(text)]), ";"], indent=4) + "\n"


def test_skeleton(tool: ToolPlan) -> str:
    """The beginning of a tool's test."""
    return _TEST.replace("STEM", tool.stem)
