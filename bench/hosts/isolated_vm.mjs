// isolated-vm, used as its documentation says: an isolate and a context for every run, tools as references that answer
// with promises, freed as soon as the run has answered.
import ivm from "isolated-vm";
import { serveHere, versionOf } from "./lines.mjs";

const MEMORY_MB = 128;
const TIMEOUT_MS = 60_000;

await serveHere({ "isolated-vm": await versionOf("isolated-vm") }, async (tools) => {
  const names = Object.keys(tools);
  const members = names.map((name, at) => `${name}: (...values) => $${at}.apply(undefined, values, options)`).join(", ");
  const options = "const options = { result: { promise: true, copy: true }, arguments: { copy: true } };";
  return {
    async execute(program) {
      const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });
      try {
        const context = await isolate.createContext();
        const references = names.map((name) => new ivm.Reference(tools[name]));
        const text = `${options} const codemode = { ${members} }; return (${program})();`;
        return await context.evalClosure(text, references, {
          timeout: TIMEOUT_MS,
          result: { promise: true, copy: true },
        });
      } finally {
        isolate.dispose();
      }
    },
  };
});
