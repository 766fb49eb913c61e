// The JavaScript at our engine's side: serves the tool calls that leave it, and looks at the values that it returned with
// the decoder of JavaScript hosts. One JSON object a line each way, matched by `id`.
import { createInterface } from "node:readline";
import { decodeResult } from "../../../node_bridge/dist/values/result.js";
import { decodeToolArguments, encodeToolAnswer, encodeToolFailure } from "../../../node_bridge/dist/values/tools.js";
import { describeEnvelope } from "./describe.mjs";
import { sites } from "./outbound.mjs";
import { makeTools } from "./tools.mjs";

const cases = new Map();

// Headers hold bytes here, and text in workerd.
const fromWire = (value) => Buffer.from(value, "latin1").toString();
const toWire = (text) => Buffer.from(text).toString("latin1");

const operations = {
  /** A case begins: fresh tools. Answers the names of every namespace's tools. */
  open({ key, providers }) {
    const made = providers.map(({ ns, tools }) => ({ ns, ...makeTools(tools) }));
    cases.set(key, { made, asked: [] });
    return made.map(({ ns, fns }) => [ns, Object.keys(fns)]);
  },

  /** A tool call. Answers what `dispatch` has to answer. */
  async call({ key, provider, tool, args }) {
    const { fns } = cases.get(key).made.find(({ ns }) => ns === provider);
    try {
      return encodeToolAnswer(await fns[tool](...decodeToolArguments(args)));
    } catch (thrown) {
      return encodeToolFailure(thrown);
    }
  },

  /** A request to the network. Answers the response, or what was thrown. */
  async request({ key, site, method, url, headers, body }) {
    cases.get(key)?.asked.push(`${method} ${url}`);
    try {
      const bytes = body === null ? null : Buffer.from(body, "base64");
      const response = await sites[site](new Request(url, { method, headers, body: bytes }), { read: fromWire, write: toWire });
      return {
        status: response.status,
        statusText: response.statusText,
        headers: [...response.headers],
        body: Buffer.from(await response.arrayBuffer()).toString("base64"),
      };
    } catch (thrown) {
      return { thrown: { name: thrown?.name ?? "Error", message: thrown?.message ?? String(thrown) } };
    }
  },

  /** A case is over. Answers the envelope, described, and the calls that were seen. */
  close({ key, form, text, error, logs }) {
    const { made, asked } = cases.get(key);
    cases.delete(key);
    const result = error === null ? decodeResult(form, text ?? undefined) : undefined;
    return { ...describeEnvelope({ result, error, logs }), calls: [...made.flatMap(({ seen }) => seen), ...asked] };
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
