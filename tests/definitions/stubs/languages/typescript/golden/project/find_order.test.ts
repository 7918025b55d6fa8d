import assert from "node:assert/strict";
import { test } from "node:test";

import { loadConfig } from "../src/config.js";
import { findOrderDefinition as definition } from "../src/tools/generated/find_order.js";
import { buildToolBox } from "../src/tools/index.js";

const toolBox = buildToolBox(console, loadConfig(console));
const call = { signal: AbortSignal.timeout(5000), report: console.debug };

test("it refuses what is no input", async () => {
  await assert.rejects(toolBox.call(definition.name, null, call));
});

test("it does its work", { todo: "what it should give" }, async () => {
  assert.ok(await toolBox.call(definition.name, {}, call));
});
