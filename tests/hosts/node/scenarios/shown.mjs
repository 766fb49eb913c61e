/** A value in words, where JSON has none for it. */
export function shown(value, above = []) {
  if (typeof value === "bigint") return `${value}n`;
  if (value === undefined || Object.is(value, -0) || (typeof value === "number" && !Number.isFinite(value))) {
    return `<${Object.is(value, -0) ? "-0" : value}>`;
  }
  if (typeof value !== "object" || value === null) return typeof value === "function" ? "<function>" : value;
  if (above.includes(value)) return "<cycle>";
  const inner = (item) => shown(item, [...above, value]);
  if (value instanceof Date || value instanceof RegExp) return `<${value.constructor.name} ${value instanceof Date ? value.toISOString() : value}>`;
  if (value instanceof Error) return `<${value.name}: ${value.message}>`;
  if (value instanceof ArrayBuffer) return `<ArrayBuffer ${new Uint8Array(value)}>`;
  if (ArrayBuffer.isView(value)) return `<${value.constructor.name} ${value}>`;
  if (value instanceof Map) return { "<Map>": [...value].map(inner) };
  if (value instanceof Set) return { "<Set>": [...value].map(inner) };
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return `<Object(${JSON.stringify(value)})>`;
  if (Array.isArray(value)) return Array.from(value, (item, index) => (index in value ? inner(item) : "<hole>"));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]));
}
