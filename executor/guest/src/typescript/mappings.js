// Source maps, as far as a transformed text needs them to find its lines.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

/**
 * @typedef {object} Origin
 * @property {number} line from 0
 * @property {number} column from 0
 */

/**
 * Where each place of a generated text comes from: by its line, then by its column, from 0.
 *
 * @typedef {Map<number, Origin>[]} Mappings
 */

/**
 * @param {string} map a source map with one source
 * @returns {Mappings}
 */
export function decodeMappings(map) {
  const { mappings } = JSON.parse(map);
  let line = 0;
  let column = 0;
  return mappings.split(";").map((segments) => {
    const origins = new Map();
    let generated = 0;
    for (const segment of segments.split(",")) {
      const fields = decode(segment);
      if (fields.length === 0) continue;
      generated += fields[0];
      if (fields.length < 4) continue;
      line += fields[2];
      column += fields[3];
      origins.set(generated, { line, column });
    }
    return origins;
  });
}

function decode(segment) {
  const fields = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = VALUES.get(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    fields.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return fields;
}

/**
 * Where an offset of the generated text comes from, or what stands before it.
 *
 * @param {string} code the generated text
 * @param {Mappings} mappings
 * @param {number} offset
 * @returns {Origin}
 */
export function originNear(code, mappings, offset) {
  const lines = code.slice(0, offset).split("\n");
  for (let line = lines.length - 1, column = lines[line].length; line >= 0; line -= 1, column = Infinity) {
    const known = [...(mappings[line] ?? [])].filter(([at]) => at <= column).at(-1);
    if (known !== undefined) return known[1];
  }
  return { line: 0, column: 0 };
}
