// A model that needs no key: it answers each of these questions with a program, and then says what the program came to.
import { MockLanguageModelV3 } from "ai/test";

const PROGRAMS = {
  "How much does acme owe?": `async () => {
    const invoices = await codemode.invoices({ customer: "acme" });
    return invoices.reduce((sum, { amount }) => sum + amount, 0);
  }`,
  "Remind everybody who is late.": `async () => {
    const customers = await codemode.customers({});
    const lists = await Promise.all(customers.map((customer) => codemode.invoices({ customer })));
    const late = lists.flat().filter(({ overdue }) => overdue);
    for (const { id } of late) {
      console.log("reminding", id);
      await codemode.remind({ invoice: id });
    }
    return { reminded: late.length };
  }`,
  "Does initech owe anything?": `async () => {
    try {
      return await codemode.invoices({ customer: "initech" });
    } catch (error) {
      return \`nothing: \${error.message}\`;
    }
  }`,
  "What does everybody owe in euros?": `async () => {
    console.warn("guessing the rate");
    return codemode.exchangeRate({ currency: "EUR" });
  }`,
  // There is no tool of that name: the two sides say so in different words.
  "What does globex owe?": `async () => codemode.invoice({ customer: "globex" })`,
};

export const QUESTIONS = Object.keys(PROGRAMS);

const USAGE = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

export function model() {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      if (last.role === "tool") return says(`The program came to ${JSON.stringify(last.content[0].output)}`);
      const question = last.content[0].text;
      const code = Object.hasOwn(PROGRAMS, question) ? PROGRAMS[question] : undefined;
      if (code === undefined) return says(`I only know these questions: ${QUESTIONS.join(" ")}`);
      const call = { type: "tool-call", toolCallId: "1", toolName: "codemode", input: JSON.stringify({ code }) };
      return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE, warnings: [] };
    },
  });
}

function says(text) {
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: undefined }, usage: USAGE, warnings: [] };
}
