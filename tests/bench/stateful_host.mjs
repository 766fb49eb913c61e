// A peer that cheats: every program runs in one realm, so each finds what the ones before it have left.
import { serveHere } from "../../bench/hosts/lines.mjs";

await serveHere({}, async (codemode) => ({
  execute: (program) => new Function("codemode", `return (${program})()`)(codemode),
}));
