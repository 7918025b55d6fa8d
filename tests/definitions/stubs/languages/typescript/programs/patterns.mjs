// Reads a case a line: {"pattern", "flags", "texts"}. Says of each text what the machine and what RegExp say; null where no machine can be.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { machineOf } = await import(
  pathToFileURL(`${process.argv[2]}/patternMachine.js`).href
);

for await (const line of createInterface({ input: process.stdin })) {
  const { pattern, flags, texts } = JSON.parse(line);
  const expression = new RegExp(pattern, flags);
  const machine = machineOf(expression);
  const said = texts.map((text) =>
    machine === null ? null : [machine.test(text), expression.test(text)],
  );
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
