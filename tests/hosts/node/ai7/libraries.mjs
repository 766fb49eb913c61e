// What stands beside this file: upstream with the AI SDK 7.
export * as ai from "ai";
export { MockLanguageModelV4 as MockModel } from "ai/test";
export * as upstream from "@cloudflare/codemode/ai";
export { z } from "zod";
