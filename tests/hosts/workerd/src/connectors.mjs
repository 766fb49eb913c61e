// The connectors of the host, all of upstream's kinds. They note what they are asked.
import { CodemodeConnector } from "@cloudflare/codemode";
import { Desk } from "./desk.mjs";
import { Shop } from "./shop.mjs";
import { Weather } from "./weather.mjs";

/** A toolset as the AI SDK has them: `parameters` for `inputSchema`, among them one without `execute`. */
class Toolset extends CodemodeConnector {
  name() {
    return "toolset";
  }

  tools() {
    return {
      double: { description: "Double a number.", parameters: { type: "object", properties: { n: { type: "number" } } }, execute: ({ n }) => n * 2 },
      later: { description: "Runs at the client.", inputSchema: { type: "object" } },
      "odd-name": { description: "A name that is no identifier.", execute: () => "odd" },
      nothing: undefined,
    };
  }
}

/** One that cannot say what it has. */
class Broken extends CodemodeConnector {
  name() {
    return "broken";
  }

  tools() {
    throw new Error("the service is down");
  }
}

/** One that combines what cannot be combined. */
class Contradictory extends CodemodeConnector {
  name() {
    return "contradictory";
  }

  tools() {
    return { pay: { requiresApproval: true, replay: "reexecute", execute: () => 1 } };
  }
}

class Reserved extends Toolset {
  name() {
    return "codemode";
  }
}

class NoIdentifier extends Toolset {
  name() {
    return "not-an-identifier";
  }
}

const KINDS = {
  desk: Desk,
  weather: Weather,
  shop: Shop,
  toolset: Toolset,
  broken: Broken,
  contradictory: Contradictory,
  reserved: Reserved,
  "no identifier": NoIdentifier,
};

/** Connectors by their names in cases. */
export function makeConnectors(names, ctx, env, journal) {
  return names.map((name) => new KINDS[name](ctx, env, journal));
}
