// A description of any value as JSON, the same for equal values and different for different ones: of values as they come
// out of upstream's RPC and of values as our decoder makes them. What JSON has no word for is {"$": kind, …}.

const MAX_STRING = 400;
const MAX_ITEMS = 60;
const MAX_DEPTH = 24;

function digest(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16);
}

const text = (value) =>
  value.length > MAX_STRING
    ? { $: "string", length: value.length, head: value.slice(0, 60), digest: digest(value) }
    : value;

export function describe(root) {
  const known = new Map();

  const items = (list, depth) => {
    const shown = list.slice(0, MAX_ITEMS).map((item) => inner(item, depth));
    if (list.length <= MAX_ITEMS) return shown;
    const rest = list.slice(MAX_ITEMS).map((item) => JSON.stringify(inner(item, depth)));
    return [...shown.slice(0, 3), { $: "more", length: list.length, digest: digest(shown.map((x) => JSON.stringify(x)).concat(rest).join()) }];
  };

  const members = (value, depth, keys = Object.keys(value)) => {
    const pairs = keys.map((key) => [key, inner(value[key], depth + 1)]);
    if (keys.includes("$")) return { $: "object", entries: pairs };
    const made = Object.create(null); // `__proto__` is a key like any other here
    for (const [key, shown] of pairs.slice(0, MAX_ITEMS)) made[key] = shown;
    if (pairs.length > MAX_ITEMS) made["…"] = { $: "more", length: pairs.length, digest: digest(JSON.stringify(pairs)) };
    return made;
  };

  const array = (value, depth) => {
    const named = Object.keys(value).filter((key) => !/^(?:0|[1-9][0-9]*)$/.test(key));
    let list;
    if (value.length > 100_000) list = [{ $: "length", v: value.length }, ...Object.keys(value).slice(0, 5)];
    else list = items(Array.from({ length: value.length }, (_, i) => (Object.hasOwn(value, i) ? value[i] : HOLE)), depth + 1);
    return named.length === 0 ? list : { $: "array", items: list, named: members(value, depth, named) };
  };

  const bytes = (buffer, offset, length) => {
    const list = [...new Uint8Array(buffer, offset, Math.min(length, MAX_ITEMS))];
    return length <= MAX_ITEMS ? list : { $: "bytes", length, head: list.slice(0, 8) };
  };

  const view = (value) => {
    const shown = { $: kindOf(value), bytes: bytes(value.buffer, value.byteOffset, value.byteLength) };
    if (value.byteLength !== value.buffer.byteLength) shown.within = [value.byteOffset, value.buffer.byteLength];
    return shown;
  };

  const error = (value, depth) => {
    const shown = { $: value.name, message: text(String(value.message)) };
    for (const key of ["cause", "errors"]) if (Object.hasOwn(value, key)) shown[key] = inner(value[key], depth + 1);
    for (const key of Object.keys(value)) shown[key] ??= inner(value[key], depth + 1);
    return shown;
  };

  const object = (value, depth) => {
    if (Array.isArray(value)) return array(value, depth);
    if (value instanceof Date) return { $: "Date", v: Number.isNaN(value.getTime()) ? "invalid" : value.toISOString() };
    if (value instanceof RegExp) return { $: "RegExp", v: String(value), lastIndex: value.lastIndex };
    if (value instanceof Map) return { $: "Map", entries: items([...value].map(([k, v]) => [k, v]), depth + 1) };
    if (value instanceof Set) return { $: "Set", items: items([...value], depth + 1) };
    if (value instanceof Error) return error(value, depth);
    if (value instanceof ArrayBuffer) return { $: "ArrayBuffer", bytes: bytes(value, 0, value.byteLength) };
    if (ArrayBuffer.isView(value)) return view(value);
    const kind = kindOf(value);
    if (["Number", "String", "Boolean", "BigInt"].includes(kind)) return { $: "boxed", v: inner(value.valueOf(), depth) };
    const plain = members(value, depth);
    return kind === "Object" ? plain : { $: kind, members: plain };
  };

  const inner = (value, depth) => {
    if (value === HOLE) return { $: "hole" };
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") return text(value);
    if (typeof value === "number") {
      if (Object.is(value, -0)) return { $: "number", v: "-0" };
      return Number.isFinite(value) ? value : { $: "number", v: String(value) };
    }
    if (typeof value === "bigint") return { $: "bigint", v: text(String(value)) };
    if (typeof value !== "object") return { $: typeof value };
    if (known.has(value)) return { $: "same", n: known.get(value) };
    known.set(value, known.size);
    return depth > MAX_DEPTH ? { $: "deeper" } : object(value, depth);
  };

  return inner(root, 0);
}

const HOLE = Symbol("hole");
const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

/** The three keys of an envelope, described. `error` is there only if the program failed. */
export function describeEnvelope({ result, error, logs }) {
  const shown = { result: describe(result) };
  if (error !== undefined && error !== null) shown.error = describe(error);
  shown.logs = describe(logs ?? []);
  return shown;
}
