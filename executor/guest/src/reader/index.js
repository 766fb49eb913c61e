// The reader: from the text a model wrote, and the modules beside it, to texts that are safe to
// evaluate inside functions. It runs in a trusted isolate that never runs a program.

import { interpret } from "./candidates.js";
import { chunksFor } from "./chunks.js";
import { describe } from "./errors.js";
import { Library } from "./library.js";
import { ModuleRefusal } from "./module.js";
import { readPreludes } from "./preludes.js";
import { linksOf } from "./program.js";
import { MENTIONS_STORES } from "./stores.js";
import { begin, wanted } from "./typescript.js";

/**
 * Reads a program with its modules.
 *
 * The input is JSON:
 *
 *   { "code", "modules": [{ "name", "kind", "source" }], "preludes": [{ "provider", "text" }], "transpiled" }
 *
 * where `kind` is "js", "cjs", "json", "text" or "data" (whose source is base64),
 * `preludes` are statements of the host that run before the program, and `transpiled`, of the second pass only, is what `typescript.js` says.
 *
 * The answer is JSON, too. For a program that is complete:
 *
 *   { "ok": true, "normalized", "open", "body", "close", "edits", "hint",
 *     "chunks", "links", "params", "modules": [{ "name", "open", "body", "close", "edits" }] }
 *
 * where `open + body + close` is one expression, a function that runs the program. It may be
 * put between brackets on any line of strict, non-generator code, with a line break behind it.
 * `body` begins on that line; its lines are the program's (without what stood around it).
 * `edits` are `[line, column, inserted]`, in order: on that line of `body` (from 1), `inserted`
 * characters were put in, right before that column of `body` (from 1), so that columns from
 * there on are that much higher than in the program. `normalized` is the string that upstream's
 * `normalizeCode` returns, or one that runs where that one cannot. `hint` is a sentence for
 * whoever sent a program that answers nothing, or fails for want of a variable; often it is empty.
 *
 * `chunks` are the names of the pieces of the platform that have to be installed before, in that
 * order. If the program imports something, `links` is an expression that tells the linker what,
 * and `params` are the names under which the program's function finds what the linker answers;
 * else both are empty. `modules` are those that the program can reach; of each, `open + body +
 * close` are the arguments of a call that tells the linker of it, to be evaluated on lines of its
 * own, with a line break behind it. Positions in them are as in the program.
 *
 * For any other text:
 *
 *   { "ok": false, "name", "message", "line", "column" }
 *
 * where `name` is "SyntaxError", "RangeError" (nested too deeply) or "InternalError" (a fault
 * of the reader), and the position, from 1, is the program's; for a text with several fenced
 * blocks, of which none is the program, it is the text's; for a module that does not parse, which
 * the message names, it is the module's.
 *
 * Either may have `"typescript"`: texts that could be TypeScript, for the second pass.
 *
 * @param {string} input
 * @returns {string}
 */
export default function read(input) {
  const { code, modules = [], preludes = [], transpiled } = JSON.parse(input);
  begin(transpiled);
  const { references, refused } = readPreludes(preludes);
  const answer = refused ?? answerFor(code, modules, references);
  const typescript = wanted();
  return JSON.stringify(typescript.length > 0 ? { ...answer, typescript } : answer);
}

function answerFor(code, modules, before) {
  const keepsStores = MENTIONS_STORES.test(code) || modules.some(({ source }) => MENTIONS_STORES.test(source));
  const library = new Library(modules, { keepsStores });
  const { answer, references, linked } = interpret(code, library);
  if (!answer.ok) return answer;
  try {
    if (library.fault !== undefined) throw library.fault;
    return { ...answer, ...surroundings([...before, references], linked, library) };
  } catch (error) {
    return refusedModule(error);
  }
}

// What has to be there before the program is evaluated.
function surroundings(references, linked, library) {
  if (linked === undefined) {
    return { chunks: chunksFor({ references }), links: "", params: [], modules: [] };
  }
  const reached = library.reach(linked.unit);
  const { units, builtins, anyBuiltin, scripts } = reached;
  const { fresh } = linked.unit;
  return {
    chunks: chunksFor({
      references: [...references, ...units.map((unit) => unit.references)], builtins, anyBuiltin, links: true,
    }),
    links: linksOf(linked, library, reached),
    params: [fresh.links, fresh.importer],
    modules: scripts,
  };
}

function refusedModule(error) {
  try {
    if (!(error instanceof ModuleRefusal)) throw error;
    const refused = describe(error.text, error.reason, error.unclosed);
    return { ...refused, message: `module ${error.module}: ${refused.message}` };
  } catch (fault) {
    return { ok: false, name: "InternalError", message: `the reader failed: ${fault}`, line: 1, column: 1 };
  }
}
