// One run of the naive alternative: evaluates the program that it is sent, and ends when the channel closes.
const waiting = new Map();
let calls = 0;

const codemode = new Proxy(
  {},
  {
    get: (_, name) =>
      (...values) =>
        new Promise((resolve) => {
          const call = ++calls;
          waiting.set(call, resolve);
          process.send({ call, name, values });
        }),
  },
);

process.on("message", async ({ program, call, value }) => {
  if (program === undefined) {
    waiting.get(call)(value);
    waiting.delete(call);
    return;
  }
  try {
    const run = new Function("codemode", `return (${program})()`);
    process.send({ ok: await run(codemode) });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
