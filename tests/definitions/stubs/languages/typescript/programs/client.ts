// Calls every tool of the live server and prints what came of it as JSON.
import {
  Client,
  FerruleError,
  liveAskFirstDefinition,
  liveCountDefinition,
  type LiveGreetOutput,
} from "./client/index.js";
import { remoteTool } from "./ferrule/remote.js";
import { liveEchoDefinition } from "./tools/generated/live_echo.js";

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
told["conflict"] = [conflict.code, conflict.details.error_code];

const denied = await failure(client.liveForbidden({ meant: true }));
told["denied"] = [
  denied.code,
  denied.details.invocation_id?.startsWith("inv_"),
  denied.message,
];

const busy = await failure(client.liveBusy({}));
told["busy"] = [busy.code, busy.details.retry_after];

const broken = await failure(client.liveBreak({ why: "no reason" }));
told["broken"] = [broken.code, broken.message];

const invalid = await failure(client.liveGreet({ name: "Ada", times: 0 }));
told["invalid"] = invalid.code;

const steps: unknown[] = [];
let countedId = "";
told["counted"] = await client.liveCount(
  { steps: 3, seconds: 0.3 },
  {
    onProgress: ({ percent, invocation_id }) => {
      steps.push(percent);
      countedId = invocation_id ?? "";
    },
  },
);
told["steps"] = steps;
const again = await client.result(liveCountDefinition, countedId);
told["again"] = again.counted;

const aborting = new AbortController();
let canceledId = "";
told["canceled"] = await client
  .liveCount(
    { steps: 2, seconds: 60 },
    {
      signal: aborting.signal,
      onProgress: ({ invocation_id }) => {
        canceledId = invocation_id ?? "";
        aborting.abort("enough");
      },
    },
  )
  .catch((error: unknown) => error);
told["canceledId"] = canceledId;

told["early"] = await client
  .liveCount(
    { steps: 1, seconds: 1 },
    { signal: AbortSignal.abort("before") },
  )
  .catch((error: unknown) => error);

const pending = await failure(client.liveAskFirst({}));
const pendingId = pending.details.invocation_id ?? "";
told["pending"] = [pending.code, pendingId.startsWith("inv_")];

const states: unknown[] = [];
const unwaited: unknown = await client
  .result(liveAskFirstDefinition, pendingId, {
    signal: AbortSignal.timeout(300),
    onWaiting: ({ state }) => states.push(state),
  })
  .catch((error: unknown) => error);
const later = await failure(client.result(liveAskFirstDefinition, pendingId));
told["unwaited"] = [
  unwaited instanceof Error && unwaited.name,
  states[0],
  later.code, // nobody canceled it
];

told["echo"] = await client.liveEcho({ value: { __proto__x: [1, null] } });

const pinned = await client.liveGreet({ name: "Di" }, { isPinned: true });
told["pinned"] = pinned.words;

const remote = remoteTool(liveEchoDefinition);
const call = { signal: new AbortController().signal, report: () => undefined };
told["remote"] = await remote({ value: [2] }, call);

const stranger = new Client({ token: "nobody" });
const refused = await failure(stranger.liveBusy({}));
told["refused"] = refused.code;

const nowhere = new Client({ url: "http://127.0.0.1:9" });
told["nowhere"] = (await failure(nowhere.liveBusy({}))).code;

const open = new Client({ url: "http://tools.example" });
told["open"] = await open.liveBusy({}).catch((error: unknown) => `${error}`);
const allowed = new Client({
  url: "http://tools.invalid",
  allowPlainHttp: true,
});
told["allowed"] = (await failure(allowed.liveBusy({}))).code;

console.log(JSON.stringify(told));
