// A codemode host: it has tools, gets a program from a model, and runs it. In a Worker with upstream's executor, the import
// would be from "@cloudflare/codemode", and the constructor would be given `loader: env.LOADER`.
import { DynamicWorkerExecutor } from "codemode-executor-bridge";

const INVOICES = [
  { customer: "acme", amount: 120, due: new Date("2026-01-31") },
  { customer: "acme", amount: 830, due: new Date("2026-03-31") },
];

const executor = new DynamicWorkerExecutor({ timeout: 10_000 });

const PROGRAM = `async () => {
  const invoices = await billing.invoices({ customer: "acme" });
  console.log(invoices.length, "invoices, the first due", invoices[0].due);
  return { total: invoices.reduce((total, invoice) => total + invoice.amount, 0), asked: new Date(0) };
}`;

const { result, error, logs } = await executor.execute(PROGRAM, [
  {
    name: "billing",
    fns: { invoices: async ({ customer }) => INVOICES.filter((invoice) => invoice.customer === customer) },
  },
]);
console.log("logs:", logs);
if (error !== undefined) console.log("failed:", error);
else console.log("returned:", result);

const failed = await executor.execute("async () => { throw new RangeError('too many invoices') }", []);
console.log("failed:", failed.error);
