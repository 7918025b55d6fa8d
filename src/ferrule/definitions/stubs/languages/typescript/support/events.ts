/** Server-sent events, as they come in. */

/** A connection that was there and is gone, or never came to be. */
export class LostError extends Error {
  override readonly name: string = "LostError";
}

/** One event. */
export interface ServerEvent {
  readonly name: string;
  readonly id: string;
  readonly data: string;
}

/** The events of a body, until it ends. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerEvent> {
  let fields: string[] = [];
  for await (const line of lines(body)) {
    if (line !== "") {
      fields.push(line);
      continue;
    }
    const event = eventOf(fields);
    fields = [];
    if (event !== null) {
      yield event;
    }
  }
}

async function* lines(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new LostError("the answer broke off", { cause });
      });
      if (done) {
        return;
      }
      const parts = (rest + decoder.decode(value, { stream: true })).split(
        /\r?\n/,
      );
      rest = parts.pop() ?? "";
      for (const part of parts) {
        yield part;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf(fields: readonly string[]): ServerEvent | null {
  const data = valuesOf(fields, "data");
  if (data.length === 0) {
    return null;
  }
  return {
    name: valuesOf(fields, "event").at(-1) ?? "message",
    id: valuesOf(fields, "id").at(-1) ?? "",
    data: data.join("\n"),
  };
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return fields
    .filter((field) => field.startsWith(`${name}:`))
    .map((field) => field.slice(name.length + 1).replace(/^ /, ""));
}
