// Executors for tests of the shadow: programs are functions of this process. `tests/migration` has the real ones.

const AsyncFunction = (async () => {}).constructor;

/** Runs a program here: an async arrow function, with the namespaces as variables. */
export function here(change = (envelope) => envelope) {
  const programs = [];
  const execute = async (code, providersOrFns, options = {}) => {
    programs.push(code);
    const providers = Array.isArray(providersOrFns) ? providersOrFns : [{ name: "codemode", fns: providersOrFns }];
    const logs = [];
    const names = { console: { log: (...words) => logs.push(words.join(" ")) } };
    for (const { name, fns } of providers) {
      // As across a process: what a tool gets, and what it answers, are copies.
      names[name] = Object.fromEntries(Object.entries(fns).map(([tool, fn]) => [tool, async (...args) => copy(await fn(...copy(args)))]));
    }
    for (const { name, binding } of options.connectors ?? []) {
      names[name] = new Proxy({}, { get: (_, method) => async (args) => structuredClone(await binding.callTool(method, structuredClone(args))) });
    }
    try {
      return change({ result: await new AsyncFunction(...Object.keys(names), `return await (${code})()`)(...Object.values(names)), logs });
    } catch (error) {
      return change({ result: undefined, error: error.message, logs });
    }
  };
  return { execute, programs };
}

const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

export const tools = (fns) => [{ name: "codemode", fns }];

/** Settles after `ms`. */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
