/** Tools that a running Ferrule does the work of. */

import { FerruleClient } from "./client.js";
import type { Definition, ToolTypes } from "./definition.js";
import type { CallOptions } from "./following.js";
import { createTool, type Tool } from "./tool.js";

/** Calls a tool at the server that FERRULE_URL and FERRULE_TOKEN name. */
export async function callRemote<Types extends ToolTypes>(
  definition: Definition<Types>,
  input: Types["input"],
  options: CallOptions = {},
): Promise<Types["output"]> {
  return new FerruleClient().call(definition, input, options);
}

/** A tool whose calls go to that server. */
export function createRemoteTool<Types extends ToolTypes>(
  definition: Definition<Types>,
): Tool {
  return createTool({
    name: definition.name,
    title: definition.title,
    description: definition.description,
    parameters: definition.parameters,
    output: definition.output,
    execute: async (args, call) => {
      let reports = 0;
      const input = definition.decodeInput(args);
      const output = await callRemote(definition, input, {
        signal: call.signal,
        onProgress: ({ message }) => {
          reports += 1;
          call.report({ progress: reports, message });
        },
      });
      return definition.encodeOutput(output);
    },
  });
}
