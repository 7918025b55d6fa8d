// Calls every tool of the live server and prints what came of it as JSON.
import {
  CanceledError,
  Client,
  ConnectionError,
  ExecutionFailedError,
  FerruleError,
  InvalidArgumentsError,
  PendingError,
  PermissionDeniedError,
  RateLimitedError,
  RequestError,
  SchemaValidationFailedError,
  liveAskFirstDefinition,
  liveCountDefinition,
  type LiveGreetOutput,
} from "./client/index.js";
import { createLiveEchoTool, read } from "./tools/generated/live_echo.js";

const client = new Client();
const told: { [name: string]: unknown } = {};

async function failure(call: Promise<unknown>): Promise<FerruleError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof FerruleError) {
      return error;
    }
    throw error;
  }
  throw new Error("it did not fail");
}

const greeting: LiveGreetOutput = await client.liveGreet({
  name: "Ada",
  times: 2,
  mood: "glad",
});
told["greeting"] = greeting;

const key = `key-${Math.random()}`;
const first = await client.liveGreet({ name: "Bo" }, { idempotencyKey: key });
const second = await client.liveGreet({ name: "Bo" }, { idempotencyKey: key });
told["isSame"] = first.call === second.call;
const conflict = await failure(
  client.liveGreet({ name: "Cy" }, { idempotencyKey: key }),
);
told["conflict"] = [conflict instanceof InvalidArgumentsError, conflict.code];

const denied = await failure(client.liveForbidden({ meant: true }));
told["denied"] = [
  denied instanceof PermissionDeniedError,
  denied.errorClass,
  denied.isRetryable,
  denied.invocationId.startsWith("inv_"),
  denied.message,
];

const busy = await failure(client.liveBusy({}));
told["busy"] = [busy instanceof RateLimitedError, busy.retryAfterSeconds];

const broken = await failure(client.liveBreak({ why: "no reason" }));
told["broken"] = [broken instanceof ExecutionFailedError, broken.message];

const invalid = await failure(client.liveGreet({ name: "Ada", times: 0 }));
told["invalid"] = invalid instanceof SchemaValidationFailedError;

const steps: (number | null)[] = [];
let countedId = "";
told["counted"] = await client.liveCount(
  { steps: 3, seconds: 0.3 },
  {
    onProgress: ({ percent, invocationId }) => {
      steps.push(percent);
      countedId = invocationId;
    },
  },
);
told["steps"] = steps;
const again = await client.result(liveCountDefinition, countedId);
told["again"] = again.counted;

const aborting = new AbortController();
const running = client.liveCount(
  { steps: 2, seconds: 60 },
  { signal: aborting.signal, onProgress: () => aborting.abort("enough") },
);
const canceled = await failure(running);
told["canceled"] = [canceled instanceof CanceledError, canceled.cause];
told["canceledId"] = canceled.invocationId;

const early = await failure(
  client.liveCount(
    { steps: 1, seconds: 1 },
    { signal: AbortSignal.abort("before") },
  ),
);
told["early"] = [early instanceof CanceledError, early.cause];

const pending = await failure(client.liveAskFirst({}));
told["pending"] = pending instanceof PendingError && [
  pending.state,
  pending.invocationId.startsWith("inv_"),
];

const impatient = { signal: AbortSignal.timeout(300), onWaiting: () => undefined };
const unwaited: unknown = await client
  .result(liveAskFirstDefinition, pending.invocationId, impatient)
  .catch((error: unknown) => error);
const later = await failure(
  client.result(liveAskFirstDefinition, pending.invocationId),
);
told["unwaited"] = [
  unwaited instanceof Error && unwaited.name,
  later instanceof PendingError, // nobody canceled it
];

told["echo"] = await client.liveEcho({ value: { __proto__x: [1, null] } });

const pinned = await client.liveGreet({ name: "Di" }, { isPinned: true });
told["pinned"] = pinned.words;

told["remote"] = await read({ value: 1 });
told["remoteTool"] = await createLiveEchoTool().execute('{"value":[2]}');

const stranger = new Client({ token: "nobody" });
const refused = await failure(stranger.liveBusy({}));
told["refused"] = [refused instanceof RequestError, refused.code];

const nowhere = new Client({ url: "http://127.0.0.1:9" });
told["nowhere"] =
  (await failure(nowhere.liveBusy({}))) instanceof ConnectionError;

console.log(JSON.stringify(told));
