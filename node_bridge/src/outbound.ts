// A program's requests to the network, served by the host as real `Request`s. What arrives was written by the program.

import type { Outbound } from "./contract.js";
import { badRequest, shown } from "./errors.js";

/** Answers a request as the platform in the isolate writes it. */
export type OutboundHandler = (request: unknown, maxBytes: number, signal: AbortSignal) => Promise<unknown>;

const MAX_HEADERS = 256;
// Of an answer, beside its body: headers at their longest, in UTF-8, and the members' names.
const HEAD_BYTES = 300 * 1024;

// Where headers are text (in workerd), and not characters of one byte each, they are read as UTF-8. So it is on the wire.
const headersAreText = ((): boolean => {
  try {
    return new Headers([["x", "\u20ac"]]).get("x") === "\u20ac";
  } catch {
    return false;
  }
})();

/**
 * The option `globalOutbound`: `undefined` where programs have no network.
 *
 * @throws {ExecutorError} `BAD_REQUEST`: it is neither a function nor a Fetcher
 */
export function outboundHandler(option: Outbound | null | undefined): OutboundHandler | undefined {
  if (option === null || option === undefined) return undefined;
  // A stub of Workers answers every property with a function, and is one itself.
  const given = option as { fetch?: unknown };
  if (typeof given === "object" && typeof given.fetch === "function") {
    return (request, maxBytes, signal) =>
      serve((made) => (given as { fetch(made: Request): Promise<Response> }).fetch(made), request, maxBytes, signal);
  }
  if (typeof option === "function") {
    const call = option as (made: Request) => Promise<Response>;
    return (request, maxBytes, signal) => serve(call, request, maxBytes, signal);
  }
  throw badRequest(`globalOutbound must be null, a function, or an object with a method fetch, not ${shown(option)}`);
}

async function serve(
  fetcher: (request: Request) => Response | Promise<Response>,
  value: unknown,
  maxBytes: number,
  signal: AbortSignal,
): Promise<unknown> {
  const { url, method, headers, body } = readRequest(value);
  // The program's own `fetch` follows redirects: the host is asked for every hop, as upstream's Fetcher is.
  const request = new Request(url, { method, headers, body, redirect: "manual", signal });
  const response = await answered(fetcher, request);
  if (typeof response !== "object" || response === null || typeof response.status !== "number") {
    throw new TypeError("globalOutbound did not answer with a Response");
  }
  if (response.status === 0) throw new TypeError("the network failed: globalOutbound answered with Response.error()");
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers].map(([name, text]) => [name, headersAreText ? toBytes(text) : text]),
    body: await readBody(response, maxBytes),
    url: response.url,
    redirected: response.redirected,
  };
}

/** In the program every failure is an Error, whatever was thrown. */
async function answered(fetcher: (request: Request) => Response | Promise<Response>, request: Request): Promise<Response> {
  try {
    return await fetcher(request);
  } catch (thrown) {
    throw thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: [string, string][];
  readonly body: Uint8Array<ArrayBuffer> | ArrayBuffer | null;
}

function readRequest(value: unknown): Asked {
  if (typeof value !== "object" || value === null) throw new TypeError("a request is an object");
  const { url, method = "GET", headers = [], body = null } = value as Record<string, unknown>;
  if (typeof url !== "string" || !/^https?:$/.test(new URL(url).protocol)) throw new TypeError("a request goes to http: or https:");
  if (typeof method !== "string") throw new TypeError("a request's method is a string");
  if (!Array.isArray(headers) || headers.length > MAX_HEADERS || !headers.every(isHeader)) {
    throw new TypeError(`a request's headers are at most ${MAX_HEADERS} pairs of strings`);
  }
  if (body !== null && !(body instanceof Uint8Array) && !(body instanceof ArrayBuffer)) {
    throw new TypeError("a request's body is bytes");
  }
  const pairs = headers.map(([name, text]): [string, string] => [name, headersAreText ? toText(text) : text]);
  return { url, method, headers: pairs, body: body as Asked["body"] };
}

const toBytes = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));
const toText = (bytes: string): string => new TextDecoder().decode(Uint8Array.from(bytes, (unit) => unit.charCodeAt(0)));

function isHeader(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
}

/** The body as far as it may go: it crosses as base64, four characters for three bytes. */
async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const limit = Math.floor(((maxBytes - Math.min(HEAD_BYTES, maxBytes / 4)) * 3) / 4);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    const chunk = next.value as Uint8Array;
    size += chunk.byteLength;
    if (size > limit) {
      await reader?.cancel();
      throw new TypeError(`the response is longer than ${limit} bytes, which is what Limits.tool_result_bytes leaves room for`);
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.byteLength;
  }
  return body;
}
