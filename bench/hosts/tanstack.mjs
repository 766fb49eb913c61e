// TanStack AI's code mode driver for Node with its default options: a context, which is an isolate, for every run.
import { createNodeIsolateDriver } from "@tanstack/ai-isolate-node";
import { serveHere, versionOf } from "./lines.mjs";

const versions = {
  "@tanstack/ai-isolate-node": await versionOf("@tanstack/ai-isolate-node"),
  "isolated-vm": await versionOf("isolated-vm"),
};
await serveHere(versions, async (tools) => {
  const driver = createNodeIsolateDriver();
  // Its tools are global functions with one argument; the programs say `codemode.name(value)`.
  const bindings = {};
  for (const [name, execute] of Object.entries(tools)) bindings[`tool_${name}`] = { name, execute };
  const members = Object.keys(tools).map((name) => `${name}: tool_${name}`);
  const prelude = `const codemode = { ${members.join(", ")} };`;
  return {
    async execute(program) {
      const context = await driver.createContext({ bindings });
      try {
        const outcome = await context.execute(`${prelude}\nreturn await (${program})();`);
        if (!outcome.success) throw new Error(`${outcome.error.name}: ${outcome.error.message}`);
        return outcome.value;
      } finally {
        await context.dispose();
      }
    },
  };
});
