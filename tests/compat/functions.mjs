// Upstream's own functions, from the package as it is published: one JSON object a line each way, matched by `id`.
// `cloudflare:workers` exists only inside workerd; of its classes nothing but their names is needed here.
import { register } from "node:module";
import { createInterface } from "node:readline";

const STAND_IN = `export class RpcTarget {} export class DurableObject {} export class WorkerEntrypoint {} export const env = {};`;
register(
  "data:text/javascript," +
    encodeURIComponent(`
      export async function resolve(specifier, context, next) {
        if (!specifier.startsWith("cloudflare:")) return next(specifier, context);
        return { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(STAND_IN)}), shortCircuit: true };
      }`),
);

const DIST = new URL("../side_by_side/node_modules/@cloudflare/codemode/dist/", import.meta.url);
const root = await import(new URL("index.js", DIST));
const browser = await import(new URL("browser.js", DIST));

const LOADED = "the worker was loaded";
const loader = {
  load() {
    throw new Error(LOADED);
  },
};

// Functions cannot be sent: the names of those that a tool is to have are.
const withFunctions = (tools) =>
  Object.fromEntries(
    Object.entries(tools).map(([name, { functions = [], ...rest }]) => [
      name,
      { ...rest, ...Object.fromEntries(functions.map((key) => [key, async () => key])) },
    ]),
  );

const operations = {
  sanitizeToolName: ({ name }) => root.sanitizeToolName(name),
  jsonSchemaToType: ({ schema, typeName }) => root.jsonSchemaToType(schema, typeName),
  generateTypesFromJsonSchema: ({ tools }) => root.generateTypesFromJsonSchema(tools),
  truncateResponse: ({ text, options }) => root.truncateResponse(text, options),
  // As text: in the order of its keys.
  truncateResult: ({ text, options }) => JSON.stringify(root.truncateResult(JSON.parse(text), options)),
  normalizeCode: ({ code }) => root.normalizeCode(code),
  numberText: ({ text }) => String(JSON.parse(text)),
  stringify: ({ text }) => JSON.stringify(JSON.parse(text)),

  /** What `execute` answers to names; `null` if it accepts them and goes on to load the worker. */
  async names({ providers, connectors }) {
    const executor = new root.DynamicWorkerExecutor({ loader });
    const resolved = providers.map(({ name, tools }) => ({
      name,
      fns: Object.fromEntries(tools.map((tool) => [tool, async () => 1])),
    }));
    const options = { connectors: connectors.map((name) => ({ name, binding: { callTool: async () => 1 } })) };
    try {
      return (await executor.execute("async () => 1", resolved, options)).error;
    } catch (error) {
      if (error.message === LOADED) return null;
      throw error;
    }
  },

  async deprecation() {
    const said = [];
    const warn = console.warn;
    console.warn = (...args) => said.push(args.join(" "));
    try {
      await new root.DynamicWorkerExecutor({ loader }).execute("async () => 1", { f: async () => 1 });
    } catch (error) {
      if (error.message !== LOADED) throw error;
    } finally {
      console.warn = warn;
    }
    return said;
  },

  /** A dispatcher whose tools answer their arguments, or fail. */
  async dispatch({ name, args }) {
    const dispatcher = new root.ToolDispatcher({
      args: async (...given) => given,
      fail: async () => {
        throw new Error("it failed");
      },
    });
    return dispatcher.call(name, args ?? undefined);
  },

  async runCode({ outcome, connectors }) {
    const seen = [];
    const executor = {
      async execute(code, providers, options) {
        seen.push([code, providers.map(({ name }) => name), options === undefined ? null : Object.keys(options)]);
        return outcome;
      },
    };
    try {
      const providers = [{ name: "p", fns: {} }];
      return { seen, value: await root.runCode({ code: "async () => 1", executor, providers, connectors }) };
    } catch (error) {
      return { seen, message: error.message };
    }
  },

  resolveProvider({ provider }) {
    const resolved = root.resolveProvider({ ...provider, tools: withFunctions(provider.tools) });
    return [resolved.name, Object.keys(resolved.fns)];
  },

  createBrowserCodeTool({ tools, description }) {
    const { execute, ...tool } = browser.createBrowserCodeTool({
      tools: withFunctions(tools),
      description: description ?? undefined,
      executor: { execute: async () => ({ result: 1 }) },
    });
    return tool;
  },
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { id, op, ...rest } = JSON.parse(line);
  Promise.resolve()
    .then(() => operations[op](rest))
    .then(
      (value) => ({ id, value }),
      (error) => ({ id, failure: String(error) }),
    )
    .then((reply) => process.stdout.write(JSON.stringify(reply) + "\n"));
}
