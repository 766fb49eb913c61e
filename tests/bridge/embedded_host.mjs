// A host with an embedded daemon, to be watched from outside. Prints what it knows, then does what it is told.
import { DynamicWorkerExecutor } from "../../node_bridge/dist/node/index.js";

const executor = new DynamicWorkerExecutor();
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const tick = async () => {
  say({ tick: true });
  await new Promise((resolve) => setTimeout(resolve, 20));
};

switch (process.argv[2]) {
  case "ends": // by itself, nothing closed
    say(await executor.execute("async () => 1", []));
    break;
  case "runs": // until it is killed
    await executor.execute("async () => { for (;;) await codemode.tick() }", [{ name: "codemode", fns: { tick } }]);
    break;
  case "exits": // in the middle of a run
    setTimeout(() => process.exit(7), 500);
    await executor.execute("async () => codemode.never()", [{ name: "codemode", fns: { never: () => new Promise(() => {}) } }]);
    break;
  case "throws":
    await executor.execute("async () => 1", []);
    throw new Error("the host's own");
}
