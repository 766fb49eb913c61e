// The host's own business: invoices, and what may be done with them. What a program can call, whichever executor runs it.
import { tool } from "ai";
import { z } from "zod";

const INVOICES = [
  { id: "A-1", customer: "acme", amount: 120, overdue: true },
  { id: "A-2", customer: "acme", amount: 830, overdue: false },
  { id: "G-1", customer: "globex", amount: 55, overdue: true },
];

/** The functions, and the reminders that they have sent so far. */
export function billing() {
  const reminders = [];
  return {
    reminders,
    async customers() {
      return [...new Set(INVOICES.map(({ customer }) => customer))];
    },
    async invoices({ customer }) {
      const found = INVOICES.filter((invoice) => invoice.customer === customer);
      if (found.length === 0) throw new Error(`there is no customer ${customer}`);
      return found;
    },
    async remind({ invoice }) {
      reminders.push(invoice);
      return { reminded: invoice };
    },
  };
}

/** What the functions take, and what a model is told of them. */
export const SCHEMAS = {
  customers: { description: "The names of all customers", inputSchema: z.object({}) },
  invoices: { description: "The invoices of a customer", inputSchema: z.object({ customer: z.string() }) },
  remind: { description: "Send a reminder of an invoice", inputSchema: z.object({ invoice: z.string().describe("its id") }) },
};

/** As tools of the AI SDK. */
export function billingTools(functions) {
  return Object.fromEntries(
    Object.entries(SCHEMAS).map(([name, schema]) => [name, tool({ ...schema, execute: functions[name] })]),
  );
}
