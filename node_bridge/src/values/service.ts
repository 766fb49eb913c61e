// Stubs of services of Workers (`ctx.exports.Name({ props })`, a service binding): objects of workerd that have every name.

/** How workerd calls the class of them, depending on what else it serves. */
const CLASSES = new Set(["Fetcher", "ServiceStub"]);
/** A name that nothing has which does not have every name. */
const NOBODYS = "\u0000 no member has this name";

/** `value` is such a stub. There are none outside of workerd. */
export function isService(value: object): boolean {
  for (let at = prototypeOf(value); at !== null; at = prototypeOf(at)) {
    const { constructor } = at;
    if (typeof constructor === "function" && CLASSES.has(constructor.name)) return NOBODYS in value;
  }
  return false;
}

/**
 * Use a member of a service.
 *
 * @param name as a program gives it: a name of the service's own class, never one that the stub itself has
 * @param args of a call; `undefined` to have what the service has under that name
 * @throws what the service throws, and for a name that is the stub's
 */
export async function useMember(service: object, name: string, args: readonly unknown[] | undefined): Promise<unknown> {
  for (let at = prototypeOf(service); at !== null; at = prototypeOf(at)) {
    if (Object.hasOwn(at, name)) throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
  }
  const stub = service as Record<string, (...args: readonly unknown[]) => unknown>;
  return await (args === undefined ? stub[name] : stub[name]?.(...args));
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;
