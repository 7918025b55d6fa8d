/**
 * Matches texts by the tree of a regular expression, in a time that grows with
 * the text and with the expression, and with nothing else: all ways through
 * the expression are followed at once.
 */

import { treeOf, type Part } from "./patternTree.js";

/** Says whether a pattern is found in a text. */
export interface Matcher {
  test(text: string): boolean;
}

type Step =
  | { readonly kind: "one"; readonly fits: (one: string) => boolean }
  | { readonly kind: "start" | "end" | "match" }
  | { readonly kind: "boundary"; readonly isNegated: boolean }
  | { readonly kind: "fork"; readonly to: number[] };

const MOST_STEPS = 20_000;
const LINE_END = /[\n\r\u2028\u2029]/;

/** The matcher of an expression; null where it cannot be one, or is large. */
export function machineOf(expression: RegExp): Matcher | null {
  const tree = treeOf(expression);
  const steps = tree === null ? null : new Writer(expression).written(tree);
  return steps === null ? null : new Machine(steps, expression);
}

/** Writes a tree as steps, one after another. */
class Writer {
  readonly #flags: string;
  readonly #steps: Step[] = [];
  readonly #known = new Map<string, (one: string) => boolean>();

  constructor(expression: RegExp) {
    this.#flags = expression.flags;
  }

  written(tree: Part): Step[] | null {
    this.#write(tree);
    this.#add({ kind: "match" });
    return this.#steps.length > MOST_STEPS ? null : this.#steps;
  }

  /** Adds a step, unless there are too many already. */
  #add(step: Step): void {
    if (this.#steps.length <= MOST_STEPS) {
      this.#steps.push(step);
    }
  }

  #fork(...to: number[]): number[] {
    this.#add({ kind: "fork", to });
    return to;
  }

  #write(part: Part): void {
    switch (part.kind) {
      case "one":
        this.#add({ kind: "one", fits: this.#fitting(part.source) });
        break;
      case "sequence":
        part.parts.forEach((each) => this.#write(each));
        break;
      case "choice":
        this.#writeChoice(part.parts);
        break;
      case "repeat":
        this.#writeRepeat(part.part, part.least, part.most);
        break;
      default:
        this.#add(part);
    }
  }

  #writeChoice(parts: readonly Part[]): void {
    const entries = this.#fork();
    const exits: number[][] = [];
    for (const part of parts) {
      entries.push(this.#steps.length);
      this.#write(part);
      exits.push(this.#fork());
    }
    exits.forEach((exit) => exit.push(this.#steps.length));
  }

  #writeRepeat(part: Part, least: number, most: number): void {
    this.#copy(part, least);
    if (most === Infinity) {
      const start = this.#steps.length;
      const entry = this.#fork(start + 1);
      this.#write(part);
      this.#fork(start);
      entry.push(this.#steps.length);
      return;
    }
    const exits: number[][] = [];
    for (let left = most - least; left > 0 && !this.#isFull(); left -= 1) {
      exits.push(this.#fork(this.#steps.length + 1));
      this.#write(part);
    }
    exits.forEach((exit) => exit.push(this.#steps.length));
  }

  #copy(part: Part, times: number): void {
    for (let left = times; left > 0 && !this.#isFull(); left -= 1) {
      const before = this.#steps.length;
      this.#write(part);
      if (this.#steps.length === before) {
        return;
      }
    }
  }

  #isFull(): boolean {
    return this.#steps.length > MOST_STEPS;
  }

  /** What says whether a character is one that the expression means. */
  #fitting(source: string): (one: string) => boolean {
    let found = this.#known.get(source);
    if (found === undefined) {
      found = fitting(source, this.#flags);
      this.#known.set(source, found);
    }
    return found;
  }
}

function fitting(source: string, flags: string): (one: string) => boolean {
  if (!flags.includes("i") && /^[^.[\\]$/u.test(source)) {
    return (one) => one === source;
  }
  const expression = new RegExp(source, flags);
  let last = "";
  let isFitting = false;
  // Many steps may ask the same of one character, one after another.
  return (one) => {
    if (one !== last) {
      last = one;
      isFitting = expression.test(one);
    }
    return isFitting;
  };
}

class Machine implements Matcher {
  readonly #steps: readonly Step[];
  readonly #expression: RegExp;
  readonly #word: RegExp;

  constructor(steps: readonly Step[], expression: RegExp) {
    this.#steps = steps;
    this.#expression = expression;
    this.#word = new RegExp("\\w", expression.flags);
  }

  test(text: string): boolean {
    const all = this.#expression.unicode ? [...text] : text.split("");
    const reached = new Int32Array(this.#steps.length).fill(-1);
    let open: number[] = [];
    for (let at = 0; at <= all.length; at += 1) {
      const ready = this.#followed([...open, 0], all, at, reached);
      if (ready === null) {
        return true;
      }
      if (ready.length === 0 && this.#isAnchored()) {
        return false;
      }
      open = at < all.length ? this.#past(ready, all[at] ?? "") : [];
    }
    return false;
  }

  /** Whether it can begin at the beginning of a text only. */
  #isAnchored(): boolean {
    return this.#steps[0]?.kind === "start" && !this.#expression.multiline;
  }

  /** The steps that wait for a character at a place; null at the end of all. */
  #followed(
    todo: number[],
    all: readonly string[],
    at: number,
    reached: Int32Array,
  ): number[] | null {
    const ready: number[] = [];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const step = this.#steps[next];
      if (step === undefined || reached[next] === at) {
        continue;
      }
      reached[next] = at;
      if (step.kind === "match") {
        return null;
      }
      if (step.kind === "one") {
        ready.push(next);
      } else if (step.kind === "fork") {
        todo.push(...step.to);
      } else if (this.#holds(step, all, at)) {
        todo.push(next + 1);
      }
    }
    return ready;
  }

  #past(ready: readonly number[], one: string): number[] {
    const passed: number[] = [];
    for (const each of ready) {
      const step = this.#steps[each];
      if (step?.kind === "one" && step.fits(one)) {
        passed.push(each + 1);
      }
    }
    return passed;
  }

  #holds(step: Step, all: readonly string[], at: number): boolean {
    switch (step.kind) {
      case "start":
        return at === 0 || this.#isLineEnd(all[at - 1]);
      case "end":
        return at === all.length || this.#isLineEnd(all[at]);
      case "boundary":
        return (
          (this.#isWord(all[at - 1]) !== this.#isWord(all[at])) !==
          step.isNegated
        );
      default:
        return false;
    }
  }

  #isLineEnd(one = ""): boolean {
    return this.#expression.multiline && LINE_END.test(one);
  }

  #isWord(one = ""): boolean {
    return this.#word.test(one);
  }
}
