// A peer whose process ends in the middle of its tenth program, if no process of it has done that before.
import { existsSync, writeFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { serveHere } from "../../bench/hosts/lines.mjs";

const trace = process.argv[2];
let programs = 0;

await serveHere({}, async (codemode) => ({
  execute: (program) => {
    if (++programs === 10 && !existsSync(trace)) {
      writeFileSync(trace, "");
      process.exit(3);
    }
    return runInContext(`(${program})()`, createContext({ codemode }));
  },
}));
