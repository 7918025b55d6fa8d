/** What the server says of a call, read with care. */

import {
  ConnectionError,
  errorOf,
  RequestError,
  UnexpectedResultError,
  type Failure,
  type FerruleError,
} from "./errors.js";
import { isObject, numbered, parseExactJson, parseJson } from "./json.js";
import type { ExactJson } from "./json.js";
import type { Schema } from "./schema.js";

/** How far a call is. */
export interface CallProgress {
  readonly invocationId: string;
  /** `running`, `partial_result`, `waiting_for_permission`, … */
  readonly status: string;
  readonly message: string;
  /** From 0 to 100; null where it is not known. */
  readonly percent: number | null;
  readonly currentStep: string;
  readonly totalSteps: number | null;
  /** Parts of the result that are there already. */
  readonly content: readonly unknown[];
}

/** A call that waits for somebody. */
export interface Waiting {
  readonly invocationId: string;
  /** `awaiting_approval`, … */
  readonly state: string;
  readonly message: string;
  /** When nobody may answer any more; empty where there is no end. */
  readonly expiresAt: string;
}

type Members = { readonly [name: string]: unknown };

/** An object, whatever was sent. */
export function membersOf(value: unknown): Members {
  return isObject(value) ? value : {};
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

export function progressOf(data: unknown): CallProgress {
  const said = membersOf(data);
  return {
    invocationId: textOf(said["invocation_id"]),
    status: textOf(said["status"]),
    message: textOf(said["message"]),
    percent: numberOf(said["percent"]),
    currentStep: textOf(said["current_step"]),
    totalSteps: numberOf(said["total_steps"]),
    content: listOf(said["content"]).map(plain),
  };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A part of an answer, without any `bigint`. */
function plain(value: unknown): unknown {
  return numbered({ value: value as ExactJson, hasBigints: true });
}

export function waitingOf(data: unknown): Waiting {
  const said = membersOf(data);
  return {
    invocationId: textOf(said["invocation_id"]),
    state: textOf(said["state"]),
    message: textOf(said["message"]),
    expiresAt: textOf(said["expires_at"]),
  };
}

/**
 * The value of a result that is no error, exactly. One that was neither text
 * nor null is there as such; a text stays a text, unless the schema takes only
 * what it says as JSON.
 */
export function valueOf(said: Members, schema: Schema | null): ExactJson {
  const structured = said["structured_content"] as ExactJson | undefined;
  if (structured !== undefined && structured !== null) {
    return structured;
  }
  const blocks = listOf(said["content"]).map(membersOf);
  if (blocks.length === 1 && blocks[0]?.["empty"] === true) {
    return null;
  }
  const text = blocks.map((block) => textOf(block["text"])).join("\n");
  return schema === null || schema.issue(text) === null
    ? text
    : readAs(schema, text);
}

function readAs(schema: Schema, text: string): ExactJson {
  try {
    const value = parseExactJson(text);
    return schema.issue(value) === null ? value : text;
  } catch {
    return text;
  }
}

/** The error that a result tells of; null where it tells of none. */
export function errorOfResult(result: unknown): FerruleError | null {
  const said = membersOf(result);
  if (said["is_error"] !== true) {
    return null;
  }
  const error = membersOf(said["error"]);
  const retry = membersOf(error["retry"]);
  const recoverability = textOf(error["recoverability"]);
  return errorOf({
    errorClass: textOf(error["error_class"]),
    code: textOf(error["error_code"]),
    message: textOf(error["message"]) || "the call failed",
    invocationId: textOf(said["invocation_id"]),
    isRetryable:
      retry["retry_safe"] === true && recoverability.startsWith("retry"),
    retryAfterSeconds: numberOf(error["retry_after"]),
    recoverability,
  });
}

/** The error of an answer that is no success. */
export async function errorOfResponse(
  response: Response,
): Promise<FerruleError> {
  const said = await problemOf(response);
  const found = errorOfResult(said["result"]);
  if (found !== null) {
    return found;
  }
  const failure: Failure = {
    errorClass: textOf(said["error_class"]),
    code: textOf(said["code"]) || `http_${response.status}`,
    message: textOf(said["detail"]) || `the answer was ${response.status}`,
    invocationId: textOf(said["invocation_id"]),
    isRetryable: response.status === 429 || response.status === 503,
    retryAfterSeconds: secondsOf(response.headers.get("retry-after")),
    recoverability: "",
  };
  return failure.errorClass === ""
    ? new RequestError(failure)
    : errorOf(failure);
}

async function problemOf(response: Response): Promise<Members> {
  try {
    return membersOf(parseJson(await response.text()));
  } catch {
    return {};
  }
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) : null;
}

/** What is known of something that went wrong on this side. */
export function failureHere(
  code: string,
  message: string,
  invocationId: string,
): Failure {
  return {
    errorClass: "",
    code,
    message,
    invocationId,
    isRetryable: false,
    retryAfterSeconds: null,
    recoverability: "",
  };
}

/** An answer that never came, or broke off. */
export function unreachable(
  message: string,
  invocationId: string,
  cause: unknown,
): ConnectionError {
  const failure = failureHere("connection", message, invocationId);
  return new ConnectionError(failure, { cause });
}

/** A result that is not what was promised. */
export function unexpected(
  message: string,
  invocationId: string,
  cause: unknown,
): UnexpectedResultError {
  const failure = failureHere("unexpected_result", message, invocationId);
  return new UnexpectedResultError(failure, { cause });
}
