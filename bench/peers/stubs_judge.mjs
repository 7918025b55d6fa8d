// What types that quicktype generated for JavaScript do with values: node stubs_judge.mjs FOLDER CASES.json
// Says the same as stubs_judge.py.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";

const [folder, cases] = process.argv.slice(2);
const require = createRequire(import.meta.url);

function judged(name, { accepts, refuses }) {
  const file = path.resolve(folder, `${name}.mjs`);
  if (!fs.existsSync(file)) return { failed: "nothing is generated" };
  let made;
  try {
    fs.copyFileSync(file, path.resolve(folder, `${name}.cjs`));
    made = require(path.resolve(folder, `${name}.cjs`));
  } catch (mishap) {
    return { failed: `it cannot be loaded: ${mishap.name}` };
  }
  const trip = (value) => JSON.parse(made.rootToJson(made.toRoot(JSON.stringify(value))));
  const found = { refused: 0, changed: 0, let_through: 0 };
  for (const value of accepts) {
    try {
      if (!isDeepStrictEqual(trip(value), value)) found.changed += 1;
    } catch {
      found.refused += 1;
    }
  }
  for (const value of refuses) {
    try {
      trip(value);
      found.let_through += 1;
    } catch {
      continue;
    }
  }
  return found;
}

const told = JSON.parse(fs.readFileSync(cases, "utf8"));
const all = Object.entries(told).map(([name, each]) => [name, judged(name, each)]);
console.log(JSON.stringify(Object.fromEntries(all)));
