// A host on the raw Worker Loader: it says nothing of the network, and so the program has the host's.
const harness = `
import program from "program.js";
export default {
  async fetch() {
    try {
      return Response.json({ result: await program() });
    } catch (error) {
      return Response.json({ error: error.message });
    }
  },
};`;

export default {
  async fetch(request, env) {
    const worker = env.LOADER.load({
      compatibilityDate: "2026-01-01",
      mainModule: "harness.js",
      modules: { "harness.js": harness, "program.js": `export default ${await request.text()}` },
    });
    return await worker.getEntrypoint().fetch("http://program/");
  },
};
