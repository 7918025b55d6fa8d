/** Tools whose work a running Ferrule does: FERRULE_URL and FERRULE_TOKEN. */

import { outputOf, send, type CallDetails } from "./connection.js";
import type { Tool, ToolDefinition } from "./tool.js";

/** A tool that calls its namesake at the server. */
export function remoteTool<Input, Output>(
  definition: ToolDefinition<Input, Output>,
): Tool<Input, Output> {
  return async (input, { signal }) => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ tool: definition.name, arguments: input });
    const request = { method: "POST", headers, body, signal };
    const answer = await send({}, "/v1/calls", request);
    const details = (await answer.json()) as CallDetails;
    return outputOf(details, definition.parseOutput);
  };
}
