// The network of the cases that open it: sites that answer requests. One file, loaded by upstream's host inside workerd and
// by the process that serves our engine's requests, so that a difference between two outcomes is the executors' alone.

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** What arrived, as data: headers sorted, the body in base64. */
async function described(request) {
  const body = new Uint8Array(await request.arrayBuffer());
  return {
    method: request.method,
    url: request.url,
    headers: [...request.headers],
    body: body.length === 0 ? null : toBase64(body),
  };
}

const pages = {
  /** What the site was sent. */
  echo: async (request) => Response.json(await described(request)),
  text: () => new Response("hello"),
  json: () => Response.json({ a: [1, { b: null }] }),
};

export async function site(request) {
  const url = new URL(request.url);
  return pages[url.pathname.slice(1)](request, url.searchParams);
}
