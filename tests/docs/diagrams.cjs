// Reads diagrams as the site's own script does: a JSON list of texts in, a list of error messages out ("" for none).
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { runInThisContext } = require("node:vm");

// Mermaid cleans labels with a library that wants a document. One that can clean nothing hands them back as they are.
class Element {}
class None {}
globalThis.window = {
  document: { nodeType: 9, currentScript: null, implementation: {}, createElement: () => new Element() },
  Element, Node: None, NodeFilter: None, NamedNodeMap: None, HTMLFormElement: None, HTMLTemplateElement: None,
  DocumentFragment: None, DOMParser: None,
};

const script = join(__dirname, "../../scripts/site/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js");
runInThisContext(readFileSync(script, "utf8"), { filename: script });

async function main() {
  const errors = [];
  for (const text of JSON.parse(readFileSync(0, "utf8"))) {
    try {
      await globalThis.mermaid.parse(text);
      errors.push("");
    } catch (error) {
      errors.push(String(error.message));
    }
  }
  process.stdout.write(JSON.stringify(errors));
}

main();
