// Hosts as TypeScript sees them: against upstream's own declarations, strictly, for Workers and for Node.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { test } from "node:test";

const bridge = fileURLToPath(new URL("../../", import.meta.url));

const STRICT = {
  strict: true, noEmit: true, target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext",
  exactOptionalPropertyTypes: true, verbatimModuleSyntax: true,
  // Upstream's declarations name packages that a host may not have.
  skipLibCheck: true,
};

function compile(compilerOptions, files) {
  const folder = mkdtempSync(join(bridge, "test/types/made-"));
  try {
    const tsconfig = join(folder, "tsconfig.json");
    writeFileSync(tsconfig, JSON.stringify({ compilerOptions: { ...STRICT, ...compilerOptions }, files }));
    const { status, stdout } = spawnSync(process.execPath, [join(bridge, "node_modules/typescript/bin/tsc"), "-p", tsconfig], { encoding: "utf8" });
    return { status, stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const hosts = join(bridge, "test/types/hosts.ts");

test("a Worker's host compiles with the executor assigned to upstream's", () => {
  const paths = { "codemode-executor-bridge": [join(bridge, "dist/workerd/index.d.ts")] };
  const options = { lib: ["ES2023", "ESNext.Disposable"], types: ["@cloudflare/workers-types"], typeRoots: [join(bridge, "node_modules")], paths };
  assert.deepEqual(compile(options, [hosts]), { status: 0, stdout: "" });
});

test("so it does with Node's entry beside Workers' types", () => {
  const paths = { "codemode-executor-bridge": [join(bridge, "dist/node/index.d.ts")] };
  const options = { lib: ["ES2023", "ESNext.Disposable"], types: ["@cloudflare/workers-types"], typeRoots: [join(bridge, "node_modules")], paths };
  assert.deepEqual(compile(options, [hosts]), { status: 0, stdout: "" });
});

test("with the DOM's types alone, the declarations need no others", () => {
  const entries = ["dist/node/index.d.ts", "dist/workerd/index.d.ts"].map((path) => join(bridge, path));
  const bare = { lib: ["ES2023", "ESNext.Disposable", "DOM"], types: [], skipLibCheck: false };
  assert.deepEqual(compile(bare, entries), { status: 0, stdout: "" });
});
