// A host in Node as TypeScript sees it, strictly: with the package's own declaration of `cloudflare:workers`, and with Workers'.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bridge = fileURLToPath(new URL("../../", import.meta.url));

const HOST = `
import { CodemodeConnector, type ConnectorTools } from "@cloudflare/codemode";
import { RpcTarget, WorkerEntrypoint, env, waitUntil, withEnv } from "cloudflare:workers";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";

interface Config { readonly key: string }

class Notes extends CodemodeConnector<Config> {
  name(): string { return "notes"; }
  protected tools(): ConnectorTools { return { key: { execute: async () => this.env.key } }; }
}
class Service extends WorkerEntrypoint<Config> {
  key(): string { return this.env.key; }
}
class Store extends RpcTarget {
  get(key: string): string { return key; }
}
export const notes = new Notes({} as never, { key: "k" });
export const service = new Service({} as never, { key: "k" });
export const executor = new DynamicWorkerExecutor({ bindings: { STORE: new Store() } });
waitUntil(Promise.resolve());
export const inner: unknown = withEnv({ KEY: "x" }, () => (env as Record<string, unknown>)["KEY"]);
// @ts-expect-error there is no such name
import { nothing } from "cloudflare:workers";
`;

function compile(types) {
  const folder = mkdtempSync(join(bridge, "test/register/made-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(bridge, join(folder, "node_modules/codemode-executor-bridge"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "host.ts"), HOST);
    // Upstream's declarations name types of Workers that a host in Node may lack.
    const compilerOptions = { strict: true, noEmit: true, target: "ES2022", lib: ["ES2023", "ESNext.Disposable"], module: "NodeNext", moduleResolution: "NodeNext", verbatimModuleSyntax: true, skipLibCheck: true, types };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["host.ts"] }));
    const { status, stdout } = spawnSync(process.execPath, [join(bridge, "node_modules/typescript/bin/tsc"), "-p", folder], { encoding: "utf8" });
    return { status, stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a host without Workers' types takes the package's declaration", () => {
  assert.deepEqual(compile(["node", "codemode-executor-bridge/register/types"]), { status: 0, stdout: "" });
});

test("a host with Workers' types needs no other", () => {
  assert.deepEqual(compile(["node", "@cloudflare/workers-types"]), { status: 0, stdout: "" });
});
