// A connector to a service that has an OpenAPI document: upstream's OpenApiConnector. Its requests are real ones, to a service
// of this Worker.
import { OpenApiConnector } from "@cloudflare/codemode";

const ITEM = { type: "object", properties: { id: { type: "string" }, price: { type: "number" } }, required: ["id"] };

const SPEC = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  components: { schemas: { Item: ITEM, Order: { type: "object", properties: { item: { $ref: "#/components/schemas/Item" }, count: { type: "integer" } } } } },
  paths: {
    "/items/{id}": {
      get: {
        operationId: "getItem",
        summary: "One item",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" }, description: "Its number." },
          { name: "currency", in: "query", schema: { type: "string" } },
          { name: "x-trace", in: "header", schema: { type: "string" } },
        ],
      },
    },
    "/orders": {
      post: {
        operationId: "place-order",
        summary: "Order something",
        requestBody: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } } },
      },
      get: { summary: "All orders" },
    },
    "/broken": { get: { operationId: "broken", summary: "Fails" } },
  },
};

export class Shop extends OpenApiConnector {
  #journal;

  constructor(ctx, env, journal) {
    super(ctx, env);
    this.#journal = journal;
  }

  name() {
    return "shop";
  }

  instructions() {
    return "A shop.";
  }

  spec() {
    return SPEC;
  }

  exposeSpec() {
    return true;
  }

  tool(name, given) {
    return name === "place_order" ? { ...given, requiresApproval: true } : given;
  }

  async request({ path, method = "GET", params, body, headers }) {
    const url = new URL(path, "https://shop.test");
    for (const [key, value] of Object.entries(params ?? {})) url.searchParams.set(key, value);
    this.#journal.note("request", method, url.href, headers, body);
    const service = this.ctx.exports.Service({ props: { journal: this.#journal.key } });
    const response = await service.fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
    return await response.json();
  }
}
