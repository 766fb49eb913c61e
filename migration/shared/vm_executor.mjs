// What a host in Node has without this project: upstream's executor runs in Workers only, and its README leaves an executor
// "for Node VM" to the reader. This is one. `node:vm` separates names, not powers: what runs in it can reach the process.
import vm from "node:vm";

export class VmExecutor {
  #timeout;

  constructor({ timeout }) {
    this.#timeout = timeout;
  }

  async execute(code, providers) {
    const logs = [];
    const line = (mark) => (...words) => void logs.push(mark + words.map(String).join(" "));
    const names = { console: { log: line(""), warn: line("[warn] "), error: line("[error] ") }, setTimeout };
    for (const { name, fns } of providers) {
      const missing = (tool) => async () => { throw new Error(`Tool "${tool}" not found`); };
      names[name] = new Proxy({ ...fns }, { get: (own, tool) => (Object.hasOwn(own, tool) ? own[tool] : missing(String(tool))) });
    }
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("Execution timed out")), this.#timeout);
    });
    try {
      const program = vm.runInNewContext(`(${code})`, names, { timeout: this.#timeout });
      return { result: await Promise.race([program(), late]), logs };
    } catch (error) {
      return { result: undefined, error: error.message, logs };
    } finally {
      clearTimeout(timer);
    }
  }
}
