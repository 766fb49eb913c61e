// What a scenario must have seen, beside being the same on both sides: two sides can also fail in the same way.
import assert from "node:assert/strict";

const outputOf = ({ steps }) => steps[0].find(({ type }) => type === "tool-result")?.output;
const failureOf = ({ steps }) => steps[0].find(({ type }) => type === "tool-error")?.error;
const textOf = ({ content }) => content[0].text;

/** By the scenario's name, without the library's version. */
export const FACTS = {
  "AI SDK: conversation"(seen) {
    assert.deepEqual(seen.cities, ["Lisbon", "Oslo"]);
    assert.match(seen.offered[0].description, /weather: \(input: WeatherInput\) => Promise<WeatherOutput>/);
    assert.doesNotMatch(seen.offered[0].description, /remove/, "a tool that needs approval is not offered to programs");
    const value = {
      result: {
        cities: [{ city: "Oslo", degrees: 4 }, { city: "Lisbon", degrees: 6 }],
        files: ["/tmp/a", "/tmp/b"],
        bytes: ["Uint8Array", 0, 1, 254, 255],
      },
      logs: ["asked 2", "[warn] warm"],
    };
    assert.deepEqual(seen.told, [{ type: "tool-result", toolCallId: "call-1", output: { type: "json", value } }]);
    assert.equal(seen.text, "Lisbon is warmer.");
    assert.equal(seen.turns, 2);
  },
  "AI SDK: several programs in one turn"({ told }) {
    assert.deepEqual(told.map(({ output }) => output.value.result), [1, 6]);
  },
  "AI SDK: errors"({ outcomes, seen }) {
    const failure = (name) => failureOf(outcomes[name]);
    assert.equal(failure("thrown"), "Error: Code execution failed: on purpose\n\nConsole output:\nbefore");
    assert.equal(failure("of a tool"), "Error: Code execution failed: the database is on fire");
    assert.deepEqual(outputOf(outcomes.caught), { result: [true, "the database is on fire"] });
    assert.match(outputOf(outcomes["of a schema"]).result, /expected string, received number/);
    assert.match(outputOf(outcomes["of no arguments"]).result, /expected object, received undefined/);
    assert.deepEqual(outputOf(outcomes["of the output, undefined"]), {});
    assert.equal(failure("tool that needs approval"), 'Error: Code execution failed: Tool "remove" not found');
    assert.equal(failure("tool that is not there"), 'Error: Code execution failed: Tool "nothing" not found');
    assert.equal(failure("name that is not there"), "Error: Code execution failed: nowhere is not defined");
    for (const { text } of Object.values(outcomes)) assert.equal(text, "sorry", "the conversation goes on");
    assert.deepEqual(seen, [], "nothing reached a tool past its schema or its approval");
  },
  "AI SDK: what models send"(seen) {
    assert.deepEqual(seen, Array(4).fill({ result: 4 }));
  },
  "AI SDK: several namespaces"(seen) {
    assert.deepEqual(outputOf(seen), { result: [{ rows: [{ n: 1 }] }, { rows: ["x"] }, 4] });
    assert.match(seen.offered[0].description, /declare const codemode: [^]*declare const db: [^]*declare const typed: \{ own: true \}/);
  },
  "AI SDK: approval"(outcomes) {
    assert.ok(outcomes.length >= 2);
    for (const { approved, requests, ranBefore, ran, told } of outcomes) {
      assert.deepEqual([requests.length, ranBefore, ran], [1, 0, approved ? 1 : 0]);
      assert.deepEqual(told[0].output, approved ? { type: "json", value: { result: 4 } } : { type: "execution-denied" });
    }
  },
  "AI SDK: agent loop"({ text, steps, seen }) {
    assert.equal(text, "Bergen.");
    assert.deepEqual(steps.map((content) => content.at(-1).type), ["tool-result", "tool-error", "tool-result", "text"]);
    assert.deepEqual(seen.map(([, { city }]) => city), ["Oslo", "Bergen"]);
  },
  "AI SDK: streaming"({ parts, text }) {
    assert.deepEqual(parts.map(({ type }) => type), ["tool-call", "tool-result", "text-delta"]);
    assert.deepEqual(parts[1].output, { result: 4 });
    assert.equal(text, "Four.");
  },
  "AI SDK: timeout"(seen) {
    assert.equal(failureOf(seen), "Error: Code execution failed: Execution timed out\n\nConsole output:\nwaiting");
    assert.equal(seen.text, "too slow");
  },
  "AI SDK: nesting"(seen) {
    assert.deepEqual(outputOf(seen), { result: [3, 4] });
    assert.deepEqual(seen.seen.map(([, { city }]) => city), ["Ulm", "Kiel"]);
  },
  "AI SDK: many at once"(seen) {
    assert.equal(seen.length, 12);
    for (const [n, [output, calls]] of seen.entries()) {
      assert.deepEqual(output, { result: n }, "no program sees what another one left");
      assert.equal(calls.length, 1);
    }
  },
  "AI SDK: tool set as connector"({ described, result, seen }) {
    assert.deepEqual(described.annotations, { remove: { requiresApproval: true } });
    assert.deepEqual(result, [{ city: "Oslo", degrees: 8 }, ["x/a", "x/b"], { bytes: [0, 1, 254, 255] }, "the database is on fire"]);
    assert.deepEqual(seen, [["weather", { city: "Oslo", days: 2 }]]);
  },

  "TanStack AI: conversation"({ offered, told, events, text, seen }) {
    assert.match(offered[0].description, /stock_of: \(input: StockOfInput\) => Promise<StockOfOutput>/);
    assert.deepEqual(told, [{ toolCallId: "call-1", content: { result: { counts: [4, 6], sum: 10 }, logs: ["counted"] } }]);
    assert.deepEqual(events, told);
    assert.deepEqual(seen, ["bolt", "washer"]);
    assert.equal(text, "There you are.");
  },
  "TanStack AI: several namespaces"({ told }) {
    assert.deepEqual(told[0].content, { result: [{ item: "nut", count: 3 }, "kept n"] });
  },
  "TanStack AI: errors"({ outcomes, seen }) {
    assert.deepEqual(outcomes.map(({ told }) => told[0].content), [
      { error: "Code execution failed: on purpose\n\nConsole output:\nbefore" },
      { error: "Code execution failed: no such warehouse" },
      { result: "no such warehouse" },
      { error: 'Code execution failed: Tool "order" not found' },
    ]);
    assert.deepEqual(seen, []);
  },

  "MCP: code server"({ server, tools, outcomes }) {
    assert.equal(server.name, "codemode");
    assert.deepEqual(tools.map(({ name }) => name), ["code"]);
    assert.match(tools[0].description, /find_person: \(input: FindPersonInput\) => Promise<FindPersonOutput>/);
    const texts = Object.fromEntries(Object.entries(outcomes).map(([name, outcome]) => [name, textOf(outcome)]));
    assert.equal(texts.loop, "190");
    assert.deepEqual(JSON.parse(texts.structured), { name: "Ada", age: 42 });
    assert.equal(texts["several texts"], "one\ntwo");
    assert.deepEqual(JSON.parse(texts["text that is JSON"]), { a: [1, 2] });
    assert.equal(JSON.parse(texts.mixed).content[1].mimeType, "image/png");
    assert.equal(texts.nothing, "undefined");
    for (const { isError } of Object.values(outcomes)) assert.equal(isError, undefined);
  },
  "MCP: code server: errors"({ outcomes, noCode, noTool }) {
    const { caught, ...failed } = outcomes;
    assert.equal(textOf(caught), "caught not today");
    assert.deepEqual(Object.values(failed).map(({ isError }) => isError), Array(6).fill(true));
    assert.equal(textOf(failed.thrown), "Error: on purpose");
    assert.equal(textOf(failed.refused), "Error: not today");
    assert.equal(textOf(failed.crashed), "Error: out of paper");
    assert.match(textOf(failed["bad arguments"]), /expected number, received string at a/);
    assert.ok(noCode.isError && noTool.isError);
  },
  "MCP: code server: big results"(outcomes) {
    for (const name of ["text", "a tool's text", "object"]) {
      assert.match(textOf(outcomes[name]), /--- TRUNCATED ---/);
      assert.ok(textOf(outcomes[name]).length < 25_000);
    }
    assert.equal(JSON.parse(textOf(outcomes.object)).small, 1, "what is cut is still JSON");
    assert.equal(JSON.parse(textOf(outcomes.fits)).length, 100);
  },
  "MCP: code server: own description"([{ description }]) {
    assert.match(description, /^Mine\.\n[^]*codemode\.add\(\{ a: 0, b: 0 \}\)/);
  },
  "MCP: OpenAPI server"({ server, tools, search, execute, requests }) {
    assert.deepEqual(server, { name: "pets", version: "2.0.0" });
    assert.deepEqual(tools.map(({ name }) => name), ["search", "execute"]);
    assert.deepEqual(JSON.parse(textOf(search.paths)), ["/pets", "/pets/{id}"]);
    assert.deepEqual(JSON.parse(textOf(search.resolved)).properties.parent, { $circular: "#/components/schemas/Pet" });
    assert.equal(textOf(search.markup), "All < pets & more");
    assert.ok(search["cannot request"].isError);
    assert.deepEqual(JSON.parse(textOf(execute.get)), [{ name: "Rex" }]);
    assert.equal(textOf(execute.failing), "Error: 502 from the pets");
    assert.equal(textOf(execute.caught), "502 from the pets");
    assert.deepEqual(requests[1].options, { method: "POST", path: "/pets", body: { name: "Rex", tags: [1, null] } });
    assert.ok(requests.every(({ signal }) => signal), "the request's context reaches the host's function");
  },

  "browser entry: plain tools"({ description, result, refused }) {
    assert.match(description, /look_up: \(input: LookUpInput\) => Promise<LookUpOutput>/);
    assert.deepEqual(result, { result: { word: "abc", length: 3 }, logs: ["looking"] });
    assert.equal(refused, 'Code execution failed: Tool "erase" not found');
  },

  "connectors: own"({ description, result, reverted, left }) {
    assert.deepEqual(description.annotations, { wipe: { requiresApproval: true } });
    assert.deepEqual([result.sizes, result.failed], [[6, 6], "the pencil broke"]);
    assert.deepEqual(result.all, { "<Map>": [["a", "note a"], ["b", "note b"]] });
    assert.deepEqual(result.values.given, { at: "<Date 1970-01-01T00:00:00.005Z>", map: { "<Map>": [["k", { "<Set>": ["v"] }]] }, big: "100000000000000000000n" });
    assert.deepEqual([result.values.bytes, result.values.odd], ["<Uint16Array 1,65535>", ["<NaN>", "<hole>", "\ud800"]]);
    assert.deepEqual([reverted, left], [[true, false], ["b"]]);
  },
  "connectors: MCP"({ description, result }) {
    assert.match(description.instructions, /^Tools over MCP\./);
    assert.deepEqual([result.added, result.person, result.said, result.refused], [3, { name: "Ada", age: 42 }, "one\ntwo", "not today"]);
    assert.equal(result.drawn.content[1].data, "AAECAw==");
  },
  "connectors: OpenAPI"({ result, asked }) {
    assert.deepEqual(asked[0], { path: "/pets/a%2Fb", method: "GET", params: { deep: true }, headers: { "x-trace": "7" } });
    assert.deepEqual([result.failed, result.paths.length], ["404 from the pets", 2]);
  },
  "connectors: together with providers"({ result, logs }) {
    assert.deepEqual(result, [{ id: "x", size: 5 }, 42, 6, 9, 'Tool "ask" not found']);
    assert.deepEqual(logs, ["both object object"]);
  },
  "connectors: what runCode makes of errors"(seen) {
    assert.match(seen[0], /^Error: Code execution failed: on purpose\n\nConsole output:\none\n\[error\] two$/);
    assert.deepEqual(seen.slice(2), [{ result: 3 }, { result: 3 }]);
  },
  "connectors: results that are cut"({ a, b }) {
    assert.match(a, /TRUNCATED/);
    assert.match(b.at(-1), /TRUNCATED/);
  },

  "values: what tools return"(seen) {
    assert.deepEqual(seen.nothing.result[0].slice(0, 1), ["undefined"]);
    assert.deepEqual(seen.date.result, [["string", false, "[object String]", 24], 24]);
    assert.deepEqual(seen.bytes.result[1], { array: "<Uint8Array 0,255>", buffer: "<ArrayBuffer 1,2>", view: "<Uint8Array 0,0,0,63>", in: ["<Uint8Array >"] });
    assert.deepEqual(seen.long.result[1], 300_000);
    assert.ok(seen.bigint.error && seen.circle.error, "what JSON refuses is an error in the program");
  },
  "values: what programs return"(seen) {
    assert.equal(seen.NaN.result, "<NaN>");
    assert.deepEqual(seen["new Map([[{ a: 1 }, new Set([1, 'x'])]])"].result, { "<Map>": [[{ a: 1 }, { "<Set>": [1, "x"] }]] });
    assert.equal(seen["new Uint16Array([1, 65535]).subarray(1)"].result, "<Uint16Array 65535>");
    assert.deepEqual(Object.entries(seen).filter(([, { error }]) => error !== undefined), []);
  },
  "values: what tools are called with"(seen) {
    assert.deepEqual(seen["1, 'two', [3]"].seen, [[1, "two", [3]]]);
    assert.deepEqual(seen["new Uint8Array([1, 2, 255])"].seen, [["<Uint8Array 1,2,255>"]]);
    assert.deepEqual(seen["'x'.repeat(300_000)"].seen, [["300000 characters"]]);
    assert.ok(Object.values(seen).every(({ error, seen: calls }) => error === undefined && calls.length === 1));
  },
  "values: what tools throw"(seen) {
    assert.deepEqual(seen.error, [{ result: [true, "plain"] }, { error: "Code execution failed: plain" }]);
    assert.deepEqual(seen.text, [{ result: [true, "only text"] }, { error: "Code execution failed: only text" }]);
  },
};
