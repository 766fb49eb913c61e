// The shadow as TypeScript sees it, strictly, against upstream's own declarations.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bridge = fileURLToPath(new URL("../../", import.meta.url));

test("a host compiles with either executor as the primary", () => {
  const folder = mkdtempSync(join(bridge, "test/shadow/made-"));
  const compilerOptions = {
    strict: true, noEmit: true, target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext",
    exactOptionalPropertyTypes: true, verbatimModuleSyntax: true,
    // Upstream's declarations name packages that a host may not have.
    skipLibCheck: true,
    lib: ["ES2023", "ESNext.Disposable"], types: ["@cloudflare/workers-types"], typeRoots: [join(bridge, "node_modules")],
    paths: {
      "codemode-executor-bridge": [join(bridge, "dist/workerd/index.d.ts")],
      "codemode-executor-bridge/shadow": [join(bridge, "dist/shadow/index.d.ts")],
    },
  };
  try {
    const tsconfig = join(folder, "tsconfig.json");
    writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: [join(bridge, "test/shadow/hosts.ts")] }));
    const tsc = join(bridge, "node_modules/typescript/bin/tsc");
    const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", tsconfig], { encoding: "utf8" });
    assert.deepEqual({ status, stdout }, { status: 0, stdout: "" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
