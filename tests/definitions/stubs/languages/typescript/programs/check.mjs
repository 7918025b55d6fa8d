// Reads a case a line: {"schema": TEXT, "values": [TEXT, …]}. Says of each value whether it fits.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Schema } = await import(
  pathToFileURL(`${process.argv[2]}/schema.js`).href
);
const { parseExactJson } = await import(
  pathToFileURL(`${process.argv[2]}/json.js`).href
);

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, values } = JSON.parse(line);
  const checker = new Schema(schema);
  const verdicts = values.map((text) => {
    try {
      const issue = checker.issue(parseExactJson(text));
      return issue === null ? null : `${issue.place}: ${issue.message}`;
    } catch (error) {
      return `! ${error.name}: ${error.message}`;
    }
  });
  process.stdout.write(`${JSON.stringify(verdicts)}\n`);
}
