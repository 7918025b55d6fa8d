/** Serves tools by the Model Context Protocol, over standard input and output. */

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";

import type { Logger, ToolBox, ToolDefinition } from "./tool.js";

/** Answers until standard input ends, and then what still runs. */
export async function serve(
  info: { readonly name: string; readonly version: string },
  toolBox: ToolBox,
  logger: Logger,
): Promise<void> {
  const server = new Server(info, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: toolBox.definitions.map(listed),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: input = {}, _meta } = params;
    if (!toolBox.definitions.some((each) => each.name === name)) {
      throw new McpError(-32602, `Unknown tool: ${name}`);
    }
    const { progressToken = null } = _meta ?? {};
    const method = "notifications/progress";
    try {
      const output = await toolBox.call(name, input, {
        signal: extra.signal,
        report: (progress) => {
          if (progressToken !== null && !extra.signal.aborted) {
            const told = { ...progress, progressToken };
            void extra.sendNotification({ method, params: told });
          }
        },
      });
      return resultOf(output);
    } catch (error) {
      logger.error(`${name} failed:`, error);
      const text = error instanceof Error ? error.message : String(error);
      return { content: [{ type: "text", text }], isError: true };
    }
  });
  process.stdin.once("end", () => {
    setTimeout(() => process.exit(), 10_000).unref();
  });
  await server.connect(new StdioServerTransport());
}

/** A text as it is, nothing for null, else JSON. */
function resultOf(output: unknown): CallToolResult {
  if (output === null || output === undefined) {
    return { content: [] };
  }
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const isObject = typeof output === "object" && !Array.isArray(output);
  const structured = isObject ? { structuredContent: { ...output } } : {};
  return { content: [{ type: "text", text }], ...structured };
}

/** The protocol wants every schema to say that it is of an object. */
function listed(tool: ToolDefinition<unknown, unknown>) {
  const { name, title, description, inputSchema, outputSchema } = tool;
  const type = "object" as const;
  return {
    name,
    ...(title === "" ? {} : { title }),
    description,
    inputSchema: { ...inputSchema, type },
    ...(outputSchema?.["type"] === type
      ? { outputSchema: { ...outputSchema, type } }
      : {}),
  };
}
