// The guest's real codecs, bundled from their sources and run in this realm. They are written for the engine's V8: what
// an older Node lacks of it is added here, to this test process alone.
import { createRequire } from "node:module";
import path from "node:path";
import vm from "node:vm";

const guest = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../executor/guest");
const esbuild = createRequire(path.join(guest, "package.json"))("esbuild");

function add(target, name, value) {
  if (target[name] === undefined) Object.defineProperty(target, name, { value, writable: true, configurable: true });
}
add(Uint8Array, "fromBase64", (text) => new Uint8Array(Buffer.from(text, "base64")));
add(Uint8Array.prototype, "toBase64", function toBase64() {
  return Buffer.from(this.buffer, this.byteOffset, this.byteLength).toString("base64");
});
add(Error, "isError", (value) => Object.prototype.toString.call(value) === "[object Error]");

const { outputFiles } = await esbuild.build({
  stdin: {
    contents:
      "export { encodeResult } from './result.js'; export { encodeArguments, parseMessage } from './codec.js';" +
      "import { takeLate } from './primordials.js'; takeLate()",
    resolveDir: path.join(guest, "src/harness"),
  },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "guestCodecs",
});

/** `encodeResult`, `encodeArguments` and `parseMessage` of the harness. */
export const { encodeResult, encodeArguments, parseMessage } = vm.runInThisContext(
  `(() => { "use strict"; ${outputFiles[0].text}\nreturn guestCodecs })()`,
);
