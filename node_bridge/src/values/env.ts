// What programs find as `this.env`: values as by structured clone, functions of the host, which they call by their paths, and
// services of Workers, of which they use any member by its name.

import { badRequest } from "../errors.js";
import { MAX_NAME } from "../protocol/messages.js";
import { CloneRefused, encodeClone } from "./clone.js";
import { type EnvFunction, Survey } from "./env_survey.js";
import { FunctionReference, encodeToolValue } from "./tools.js";

export type { EnvFunction };

export interface Env {
  /** A JSON object: tool JSON, or one that is tagged and holds clone text. */
  readonly text: string;
  /** By their paths, `DB.query` for example. */
  readonly functions: ReadonlyMap<string, EnvFunction>;
  readonly services: ReadonlyMap<string, object>;
}

/**
 * Encodes the option `bindings`.
 *
 * @throws {ExecutorError} `BAD_REQUEST`: a value has no form in which a program could have it; the message names its path
 */
export function encodeEnv(bindings: Readonly<Record<string, unknown>>): Env {
  const survey = new Survey(bindings);
  const functions = new Map<string, EnvFunction>();
  const services = new Map<string, object>();
  for (const { kind, path, target } of survey.handles) {
    if (path.length > MAX_NAME) {
      throw badRequest(`bindings hold a ${kind} whose path is longer than ${MAX_NAME} characters: ${path.slice(0, 60)}…`);
    }
    if (kind === "function") functions.set(path, target as EnvFunction);
    else services.set(path, target);
  }
  return { text: survey.isRich ? asClone(bindings, survey) : asToolJson(bindings, survey), functions, services };
}

/** Most bindings are no more than that, and a program reads them without the code that reads clones. */
function asToolJson(bindings: Readonly<Record<string, unknown>>, survey: Survey): string {
  const replaced = (value: unknown): unknown => {
    if (typeof value === "function") {
      const handle = survey.handleOf(value);
      if (handle === undefined) {
        throw badRequest("bindings have a getter that gives another function each time: read it once, and give what it gave");
      }
      return new FunctionReference(handle.path);
    }
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
    if (Array.isArray(value)) return value.map(replaced);
    return Object.fromEntries(Object.entries(survey.shapeOf(value) ?? value).map(([key, item]) => [key, replaced(item)]));
  };
  return encodeToolValue(replaced(bindings)) ?? "{}";
}

function asClone(bindings: Readonly<Record<string, unknown>>, survey: Survey): string {
  try {
    const { form, text } = encodeClone(bindings, "bindings", {
      handle: (value) => survey.handleOf(value)?.number,
      shape: (value) => survey.shapeOf(value),
    });
    const handles = survey.handles.map(({ kind, path }) => [kind, path]);
    return JSON.stringify({ __codemode_binary_v1__: "clone", data: `${form}${text}`, handles });
  } catch (error) {
    if (error instanceof CloneRefused) throw badRequest(`bindings cannot be given to a program: ${error.message}`);
    throw error;
  }
}
