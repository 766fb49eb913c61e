// Preludes: statements of the host that run before the program. They are not hostile, but a broken
// one must not take the program with it, or let its text leave its place.

import { Reading } from "./parse.js";
import { Refusal, describe } from "./errors.js";

/**
 * @param {{ provider: string, text: string }[]} preludes
 * @returns {{ references: object[], refused: Record<string, unknown> | undefined }} what they name,
 *   or the answer that refuses the program because of one of them
 */
export function readPreludes(preludes) {
  const references = [];
  for (const { provider, text } of preludes) {
    const reading = new Reading(text);
    try {
      const moduleSyntax = reading.module().body.find(({ type }) => /^(?:Import|Export)/.test(type));
      if (moduleSyntax !== undefined) throw new Refusal("a prelude neither imports nor exports", moduleSyntax.start);
      if (reading.magicComments.length > 0) throw new Refusal("directives are not allowed", reading.magicComments[0]);
    } catch (error) {
      const refused = describe(text, error, reading.unclosed);
      return { references, refused: { ...refused, message: `the prelude of provider "${provider}": ${refused.message}` } };
    }
    references.push(reading.references);
  }
  return { references, refused: undefined };
}
