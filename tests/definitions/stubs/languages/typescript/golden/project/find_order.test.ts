import assert from "node:assert/strict";
import { test } from "node:test";

import { loadConfig } from "../src/config.js";
import { quietLogger } from "../src/ferrule/logger.js";
import { definition } from "../src/tools/generated/find_order.js";
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
