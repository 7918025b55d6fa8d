import type { Config } from "../config.js";
import type { Logger } from "../ferrule/tool.js";

/** Where orders are. */
export interface OrderRepo {
  // TODO: what tools need.
}

/** Makes the service, when the tool box is built. */
export function newOrderRepo(logger: Logger, config: Config): OrderRepo {
  // TODO: make it instead.
  return {};
}
