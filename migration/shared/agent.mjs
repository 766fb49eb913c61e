// The agent's loop: the model writes a program, the tool runs it, the model reads what it came to.
import { generateText, stepCountIs } from "ai";
import { model } from "./model.mjs";

/** @returns the model's last words */
export async function ask(question, tools) {
  const { text } = await generateText({ model: model(), prompt: question, tools, stopWhen: stepCountIs(4) });
  return text;
}
