// Reads a case a line: {"schema": SCHEMA or null, "result": RESULT}. Says what a call gives that ends like that.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const support = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.js`).href);
const { outputOf } = await support("connection");
const { parser } = await support("validation");

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, result } = JSON.parse(line);
  const parse = schema === null ? (value) => value : parser("output", schema);
  let told;
  try {
    told = { value: outputOf({ result }, parse), error: null };
  } catch (error) {
    told = { value: null, error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
