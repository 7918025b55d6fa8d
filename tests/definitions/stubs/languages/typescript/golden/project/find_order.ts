import {
  createTool,
  type Logger,
  type Tool,
  type ToolCall,
} from "../ferrule/tool.js";
import type { DatabaseConfig } from "../config.js";
import type { OrderRepo } from "../services/orderRepo.js";
import {
  definition,
  type FindOrderContract,
  type FindOrderInput,
  type FindOrderOutput,
} from "./generated/find_order.js";

/**
 * What this file was written for. When the input or the output of the tool
 * changes, this line does not compile any more. Then look at
 * ./generated/find_order.ts, mend the code below, and write the new digits.
 */
export const contract: FindOrderContract = "00000000";

/** Makes the tool. */
export function createFindOrderTool(
  logger: Logger,
  orderRepo: OrderRepo,
  databaseConfig: DatabaseConfig,
): Tool {
  async function run(
    input: FindOrderInput,
    call: ToolCall,
  ): Promise<FindOrderOutput> {
    // TODO: do the work instead. `call.signal` tells when nobody waits any more.
    void [logger, orderRepo, databaseConfig, input, call];
    return definition.decodeOutput('{"id":""}');
  }

  return createTool({
    name: definition.name,
    title: definition.title,
    description: definition.description,
    parameters: definition.parameters,
    output: definition.output,
    execute: async (args: string, call: ToolCall): Promise<string> =>
      definition.encodeOutput(await run(definition.decodeInput(args), call)),
  });
}
