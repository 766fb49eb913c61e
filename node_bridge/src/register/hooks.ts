// How modules are found, with Workers' own among them. Node loads this file in its loader's thread, or calls it beside `require`.

const WORKERS = "cloudflare:workers";
const SCHEME = "cloudflare:";

/** The parts of Node's contract for such hooks that are used. */
interface Resolved {
  url: string;
  format?: string | null | undefined;
  shortCircuit?: boolean | undefined;
}

/**
 * Where a module of Workers is.
 *
 * @returns a URL; `undefined` if the specifier names no module of Workers
 * @throws {Error} `ERR_NOT_IN_NODE`: it names one that Node cannot have
 */
export function supplied(specifier: string, importer?: string): string | undefined {
  if (!specifier.startsWith(SCHEME)) return undefined;
  if (specifier === WORKERS) return new URL("./workers.js", import.meta.url).href;
  const by = importer === undefined ? "" : ` (${importer} imports it)`;
  const message = `${specifier} cannot be had in Node${by}: of the modules of Workers, ${WORKERS} alone is supplied`;
  throw Object.assign(new Error(message), { code: "ERR_NOT_IN_NODE" });
}

/** A hook of Node's, for `module.register` and `module.registerHooks` alike. */
export function resolve<R extends Resolved | Promise<Resolved>>(
  specifier: string,
  context: { parentURL?: string | undefined },
  nextResolve: (specifier: string, context: unknown) => R,
): R | Resolved {
  const url = supplied(specifier, context.parentURL);
  return url === undefined ? nextResolve(specifier, context) : { url, format: "module", shortCircuit: true };
}
