// The network of the cases that have one: sites that answer requests. One file, loaded by upstream's host inside workerd and
// by the process that serves our engine's requests, so that a difference between two outcomes is the executors' alone.

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

const thrown = { TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, Error };

class Quota extends Error {
  name = "Quota";
  code = "E42";
}

/** By the path of a request's URL; `query` is what else it says. */
const pages = {
  "/": () => new Response("home"),
  /** What arrived. */
  async echo({ request, read }) {
    const { method, url, redirect } = request;
    const body = new Uint8Array(await request.arrayBuffer());
    const headers = [...request.headers].map(([name, value]) => [name, read(value)]);
    return Response.json({ method, url, headers, body: toBase64(body) });
  },
  /** The body that arrived, with its type. */
  async mirror({ request }) {
    const type = request.headers.get("content-type");
    return new Response(await request.arrayBuffer(), { headers: type === null ? {} : { "content-type": type } });
  },
  text: () => new Response("hello"),
  unicode: () => new Response("a\u00e9\u20ac\ud83d\ude00"),
  bom: () => new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])),
  json: () => Response.json({ a: [1, { b: null }] }),
  empty: () => new Response(""),
  bytes: () => new Response(new Uint8Array([0, 255, 128, 10])),
  form: () => new Response("a=1&b=2&a=3", { headers: { "content-type": "application/x-www-form-urlencoded" } }),
  multipart: () =>
    new Response('--x\r\nContent-Disposition: form-data; name="f"; filename="n.txt"\r\nContent-Type: text/css\r\n\r\nbody\r\n--x--', {
      headers: { "content-type": "multipart/form-data; boundary=x" },
    }),
  big: ({ query }) => new Response("x".repeat(+query.get("n"))),
  cookies: () =>
    new Response("c", { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"], ["X-Two", "1"], ["x-two", "2"]] }),
  unicodeHeader: ({ write }) => new Response("u", { headers: { "x-u": write("\u00e9\u20ac") } }),
  status({ query }) {
    const init = { status: +query.get("status") };
    if (query.has("text")) init.statusText = query.get("text");
    return new Response(null, init);
  },
  failure: ({ query }) => Response.json({ error: "no" }, { status: +query.get("status"), headers: { "retry-after": "2" } }),
  redirect({ query }) {
    const headers = query.has("to") ? { location: query.get("to") } : {};
    return new Response("moved", { status: +(query.get("status") ?? 302), headers });
  },
  /** A chain of `n` redirects. */
  chain({ query }) {
    const n = +query.get("n");
    return new Response(null, { status: 302, headers: { location: n > 1 ? `/chain?n=${n - 1}` : "/echo" } });
  },
  twoLocations: () => new Response(null, { status: 302, headers: [["location", "/echo"], ["location", "/text"]] }),
  async slow({ query }) {
    await sleep(+query.get("ms"));
    return new Response("slow");
  },
  /** A body that comes in two pieces. */
  pieces() {
    const encoder = new TextEncoder();
    return new Response(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(encoder.encode("one "));
          await sleep(10);
          controller.enqueue(encoder.encode("two"));
          controller.close();
        },
      }),
    );
  },
  /** A body that breaks off. */
  broken() {
    return new Response(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(new Uint8Array(3));
          await sleep(10);
          controller.error(new RangeError("the body broke off"));
        },
      }),
    );
  },
  throw({ query }) {
    throw new thrown[query.get("name") ?? "Error"](query.get("message") ?? "no such host");
  },
  throwQuota() {
    throw new Quota("used up");
  },
  throwText() {
    throw "a string";
  },
};

/** Answers requests to any host by their paths. `read` and `write` are for values of headers, where these are bytes. */
async function site(request, { read = (value) => value, write = read } = {}) {
  const url = new URL(request.url);
  const name = url.pathname === "/" ? "/" : url.pathname.slice(1);
  if (!Object.hasOwn(pages, name)) return new Response(`nothing at ${url.pathname}`, { status: 404 });
  return pages[name]({ request, query: url.searchParams, read, write });
}

export const sites = { site };
