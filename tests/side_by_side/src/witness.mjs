// The JavaScript at our engine's side: serves the tool calls that leave it, and looks at the values that it returned with
// the decoder of JavaScript hosts. One JSON object a line each way, matched by `id`.
import { createInterface } from "node:readline";
import { decodeResult } from "../../../node_bridge/dist/values/result.js";
import { decodeToolArguments, encodeToolAnswer, encodeToolFailure } from "../../../node_bridge/dist/values/tools.js";
import { describeEnvelope } from "./describe.mjs";
import { makeTools } from "./tools.mjs";

const cases = new Map();

const operations = {
  /** A case begins: fresh tools. Answers the names of every namespace's tools. */
  open({ key, providers }) {
    const made = providers.map(({ ns, tools }) => ({ ns, ...makeTools(tools) }));
    cases.set(key, made);
    return made.map(({ ns, fns }) => [ns, Object.keys(fns)]);
  },

  /** A tool call. Answers what `dispatch` has to answer. */
  async call({ key, provider, tool, args }) {
    const { fns } = cases.get(key).find(({ ns }) => ns === provider);
    try {
      return encodeToolAnswer(await fns[tool](...decodeToolArguments(args)));
    } catch (thrown) {
      return encodeToolFailure(thrown);
    }
  },

  /** A case is over. Answers the envelope, described, and the calls that were seen. */
  close({ key, form, text, error, logs }) {
    const made = cases.get(key);
    cases.delete(key);
    const result = error === null ? decodeResult(form, text ?? undefined) : undefined;
    return { ...describeEnvelope({ result, error, logs }), calls: made.flatMap(({ seen }) => seen) };
  },
};

async function answer({ id, op, ...rest }) {
  try {
    return { id, value: await operations[op](rest) };
  } catch (error) {
    return { id, failure: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  answer(JSON.parse(line)).then((reply) => process.stdout.write(JSON.stringify(reply) + "\n"));
}
