// The names of namespaces and tools, checked as upstream does before anything runs.

import { MAX_NAME } from "./protocol/messages.js";

/** The words that a strict function does not accept as the name of a constant. */
const KEYWORDS = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum eval export extends" +
    " false finally for function if implements import in instanceof interface let new null package private protected" +
    " public return static super switch this throw true try typeof var void while with yield").split(" "),
);

/** What upstream marks by an underscore besides: words of older editions, and one that is no word but a value. */
const OLD_WORDS = new Set(
  ("abstract boolean byte char double final float goto int long native short synchronized throws transient undefined" +
    " volatile").split(" "),
);

/** What upstream refuses. */
const RESERVED = new Set([
  "__dispatchers", "__connectors", "__logs", "__CODEMODE_BINARY_TAG", "__bytesToBase64", "__base64ToBytes",
  "__encodeCodemodeValue", "__decodeCodemodeValue", "__stringifyForCodemode", "__parseForCodemode", "WorkerEntrypoint",
  "CodeExecutor", "Promise", "setTimeout", "Error", "console",
]); // prettier-ignore

/**
 * What upstream takes, and where every tool call then fails inside its harness. Here they would work, and leave the
 * program without the global that it is written for.
 */
const GLOBALS = new Set(["ArrayBuffer", "JSON", "Object", "Proxy", "String", "Uint8Array"]);

const IDENTIFIER = /^[a-zA-Z_$][a-zA-Z0-9_$]*$/;

interface Named {
  readonly name: string;
}

interface NamedTools extends Named {
  readonly fns: Readonly<Record<string, unknown>>;
}

/**
 * The identifier under which a program can call the tool `name`: hyphens, dots and white space become underscores, what
 * else cannot stand in an identifier is dropped, a leading digit and reserved words are marked by an underscore.
 *
 * Mirrors upstream's `sanitizeToolName`.
 */
export function sanitizeToolName(name: string): string {
  const sanitized = name.replace(/[-.\s]/g, "_").replace(/[^a-zA-Z0-9_$]/g, "");
  if (sanitized === "") return "_";
  const marked = /^[0-9]/.test(sanitized) ? `_${sanitized}` : sanitized;
  return KEYWORDS.has(marked) || OLD_WORDS.has(marked) ? `${marked}_` : marked;
}

/** Why these names cannot be used together, in upstream's words; `undefined` if they can. */
export function refusalOfNames(providers: readonly NamedTools[], connectors: readonly Named[]): string | undefined {
  const seen = new Set<string>();
  for (const { name } of providers) {
    const reason = unusable("Provider", name) ?? (seen.has(name) ? `Duplicate provider name "${name}"` : undefined);
    if (reason !== undefined) return reason;
    seen.add(name);
  }
  for (const { name } of connectors) {
    const clash = seen.has(name) ? `Duplicate name "${name}" (connector clashes with provider)` : undefined;
    const reason = unusable("Connector", name) ?? clash;
    if (reason !== undefined) return reason;
    seen.add(name);
  }
  for (const { name, fns } of providers) {
    const reason = collision(Object.keys(fns));
    if (reason !== undefined) return `${reason} in provider "${name}"`;
  }
  return undefined;
}

/** Two tools that a program would find under one name, in upstream's words. */
function collision(tools: readonly string[]): string | undefined {
  const seen = new Map<string, string>();
  for (const name of tools) {
    const short = sanitizeToolName(name);
    const other = seen.get(short);
    if (other !== undefined) return `Tool names "${other}" and "${name}" both sanitize to "${short}"`;
    seen.set(short, name);
  }
  return undefined;
}

function unusable(kind: string, name: string): string | undefined {
  if (RESERVED.has(name) || GLOBALS.has(name) || KEYWORDS.has(name)) return `${kind} name "${name}" is reserved`;
  if (!IDENTIFIER.test(name) || name.length > MAX_NAME) return `${kind} name "${name}" is not a valid JavaScript identifier`;
  return undefined;
}
