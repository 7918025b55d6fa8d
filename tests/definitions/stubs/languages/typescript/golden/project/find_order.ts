import type { DatabaseConfig } from "../config.js";
import type { Logger } from "../ferrule/tool.js";
import type { OrderRepo } from "../services/orderRepo.js";
import type { FindOrderTool } from "./generated/find_order.js";

/** Makes the tool. */
export function createFindOrderTool(
  logger: Logger,
  orderRepo: OrderRepo,
  databaseConfig: DatabaseConfig,
): FindOrderTool {
  return async (input, call) => {
    // TODO: do the work instead. `call.signal` tells when nobody waits any more.
    throw new Error("not implemented yet");
  };
}
