// The code tool of upstream's entry for browsers: plain JSON Schema, no library. It takes any executor, and then needs no browser.
import { createBrowserCodeTool } from "@cloudflare/codemode/browser";

export const browserScenarios = {
  async "plain tools"(executor) {
    const tools = {
      "look-up": {
        description: "Finds a word",
        inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
        execute: async ({ word }) => ({ word, length: word.length }),
      },
      erase: { description: "Wants to be asked", inputSchema: { type: "object" }, needsApproval: true, execute: async () => "erased" },
    };
    const { name, description, inputSchema, outputSchema, execute } = createBrowserCodeTool({ tools, executor });
    const result = await execute({ code: "async () => { console.log('looking'); return await codemode.look_up({ word: 'abc' }); }" });
    const refused = await execute({ code: "async () => await codemode.erase({})" }).catch((error) => error.message);
    return { name, description, inputSchema, outputSchema, result, refused };
  },
};
