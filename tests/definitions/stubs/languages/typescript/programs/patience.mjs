// Serves a tool that never ends to a caller who has nothing more to say.
import { pathToFileURL } from "node:url";

const load = (name) =>
  import(pathToFileURL(`${process.argv[2]}/${name}.js`).href);
const { serve } = await load("mcp");
const { Schema } = await load("schema");
const { quietLogger } = await load("logger");
const { createTool, ToolBox } = await load("tool");

let reason = "nobody told it to stop";
const tool = createTool({
  name: "endless",
  description: "Never ends.",
  parameters: new Schema("{}"),
  execute: (_args, call) =>
    new Promise(() => {
      call.signal.addEventListener("abort", () => (reason = "stopped"));
    }),
});
const params = { name: "endless", arguments: {} };
const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
await serve({
  name: "patience",
  version: "1",
  toolBox: new ToolBox().add(tool),
  logger: quietLogger(),
  source: [new TextEncoder().encode(line)],
  sink: { write: () => undefined },
  patienceSeconds: 0.2,
});
console.log(reason);
