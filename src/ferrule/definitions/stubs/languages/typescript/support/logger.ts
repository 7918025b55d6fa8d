/** A logger for programs whose standard output is taken. */

import type { Sink } from "./host.js";
import type { Logger } from "./tool.js";

/** Writes a line of JSON for each message. */
export function lineLogger(sink: Sink): Logger {
  const at = (level: string) => (message: string, details?: unknown) => {
    sink.write(`${line({ level, message, details })}\n`);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
  };
}

function line(entry: object): string {
  try {
    return JSON.stringify(entry);
  } catch {
    return JSON.stringify({ ...entry, details: "(cannot be shown)" });
  }
}

/** A logger that says nothing. */
export function quietLogger(): Logger {
  return lineLogger({ write: () => undefined });
}
