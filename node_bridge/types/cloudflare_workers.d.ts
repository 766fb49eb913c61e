// Declares `cloudflare:workers` for hosts in Node that do not have @cloudflare/workers-types, which declares it as well.

declare module "cloudflare:workers" {
  export * from "codemode-executor-bridge/register/workers";
}
