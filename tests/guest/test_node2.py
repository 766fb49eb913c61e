"""node:stream, node:zlib, node:diagnostics_channel, node:module and HTMLRewriter where no comparison with upstream
tells what is right: what a hostile program gets hold of, what it does to itself, bounds, and documents cut anywhere."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest

from codemode_executor import ExecuteResult, IsolateExecutor, Limits
from guest.crawl import crawl

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]


def succeeded(outcome: ExecuteResult) -> object:
    """The result of a run that has not failed."""
    assert outcome.error is None, outcome.error
    return outcome.result


# --- nothing of the machinery is reachable ----------------------------------------------------------

_CRAWL = crawl("createHandle", "makeElement", "requireFrom", "realm", "hostName")


@pytest.mark.parametrize(
    ("module", "more"),
    [
        ("stream", "new module.PassThrough(), module.Readable.from(['a']), ...module.duplexPair()"),
        ("stream/promises", ""),
        ("stream/consumers", ""),
        ("stream/web", ""),
        ("zlib", "module.createGzip(), module.createBrotliDecompress(), thrown(() => module.gunzipSync('x'))"),
        ("diagnostics_channel", "module.channel('x'), module.tracingChannel('y')"),
        ("module", "module.createRequire('/x'), thrown(() => module.createRequire('/x')('nope'))"),
        ("constants", ""),
    ],
)
async def test_nothing_of_the_machinery_is_reachable(executor: IsolateExecutor, module: str, more: str) -> None:
    outcome = await executor.execute(f"""async () => {{
      {_CRAWL}
      const thrown = (run) => {{ try {{ run() }} catch (error) {{ return error }} }};
      const module = await import('node:{module}');
      return crawl([module, module.default, {more}]);
    }}""")
    assert succeeded(outcome) == []


async def test_nothing_of_the_machinery_is_reachable_from_a_document(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(f"""async () => {{
      {_CRAWL}
      const given = [HTMLRewriter, new HTMLRewriter()];
      const take = function (token) {{ given.push(token, this) }};
      const handlers = {{ element(e) {{ take(e); take(e.attributes); e.onEndTag(take) }}, text: take, comments: take }};
      await new HTMLRewriter().on('p', handlers).onDocument({{ doctype: take, end: take }})
        .transform(new Response('<!doctype html><p a=1>x<!--c--></p>')).text();
      return [given.length, crawl(given)];
    }}""")
    assert succeeded(outcome) == [18, []]


async def test_a_callback_does_not_see_who_calls_it(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { Readable, Transform, Writable, pipeline } = await import('node:stream');
      const { gzip } = await import('node:zlib');
      const { channel, tracingChannel } = await import('node:diagnostics_channel');
      const seen = [];
      let calls = 0;
      Error.prepareStackTrace = (error, sites) => sites;
      const look = function () {
        calls += 1;
        for (const site of new Error('x').stack) {
          for (const method of ['getThis', 'getFunction']) if (site[method]() !== undefined) seen.push(String(site));
        }
      };
      const through = new Transform({ transform(chunk, encoding, callback) { look(); callback(null, chunk) } });
      const sink = new Writable({ write(chunk, encoding, callback) { look(); callback() } });
      await new Promise((resolve) => pipeline(Readable.from(['a']), through, sink, () => { look(); resolve() }));
      await new Promise((resolve) => gzip('x', () => { look(); resolve() }));
      channel('x').subscribe(look);
      channel('x').publish(1);
      tracingChannel('x').traceSync(look);
      await new HTMLRewriter().on('p', { element: look, text: look }).transform(new Response('<p>x')).text();
      delete Error.prepareStackTrace;
      return [calls, seen];
    }""")
    assert succeeded(outcome) == [9, []]


async def test_a_require_finds_modules_of_the_run_and_the_platform_only(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
      const { createRequire } = await import('node:module');
      const require = createRequire('/dir/main.js');
      const names = [
        './a.js', '../a.js', '/dir/a.js', '/etc/passwd', 'file:///etc/passwd', '__proto__', 'node:fs', '../../x',
      ];
      const get = (name) => { try { return require(name).default } catch (e) { return e.message.slice(0, 14) } };
      return names.map(get);
    }""",
        modules={"dir/a.js": "export default 'inner'"},
    )
    missing = "No such module"
    assert succeeded(outcome) == ["inner", missing, "inner", missing, missing, missing, missing, missing]


# --- a program that patches the language hurts itself alone -----------------------------------------


@pytest.mark.parametrize(
    "patch",
    [
        "Array.prototype.push = () => { throw new Error('push') }",
        "Array.prototype[Symbol.iterator] = () => { throw new Error('iterate') }",
        "Object.prototype.get = () => 1",
        "Function.prototype.call = () => { throw new Error('call') }",
        "String.prototype.slice = () => { throw new Error('slice') }",
        "RegExp.prototype.exec = () => { throw new Error('exec') }",
        "Promise.prototype.then = () => { throw new Error('then') }",
        "Uint8Array.prototype.subarray = () => { throw new Error('subarray') }",
        "Object.prototype.toJSON = () => ({ stream: 1, flush: 99 })",
        "Object.prototype.stream = 1",
    ],
)
async def test_a_patched_language_breaks_no_later_run(executor: IsolateExecutor, patch: str) -> None:
    use = """
      const { gzipSync, gunzipSync } = await import('node:zlib');
      const { Readable } = await import('node:stream');
      const packed = gunzipSync(gzipSync('text')).toString();
      const upper = await Readable.from(['a', 'b']).map((x) => x.toUpperCase()).toArray();
      const rewriter = new HTMLRewriter().on('p', { element(e) { e.append('!') } });
      const page = await rewriter.transform(new Response('<p>x</p>')).text();
      return [packed, upper, page];
    """
    broken = await executor.execute(f"async () => {{ {patch}; {use} }}", limits=Limits(timeout_s=2))
    assert broken.error is not None or isinstance(broken.result, list)
    whole = await executor.execute(f"async () => {{ {use} }}")
    assert succeeded(whole) == ["text", ["A", "B"], "<p>x!</p>"]


# --- node:zlib --------------------------------------------------------------------------------------


async def test_what_either_side_packs_the_other_unpacks(executor: IsolateExecutor) -> None:
    source = random.Random(7)
    data = source.randbytes(90_000) + bytes(200_000) + source.randbytes(90_000)
    outcome = await executor.execute(
        """async () => {
      const z = await import('node:zlib');
      const data = Buffer.from(this.env.data);
      const unpacked = [
        z.gunzipSync(this.env.gzip), z.unzipSync(this.env.deflate), z.brotliDecompressSync(this.env.brotli),
      ];
      const same = unpacked.map((bytes) => bytes.equals(data));
      return [same, z.gzipSync(data), z.deflateSync(data), z.brotliCompressSync(data)];
    }""",
        env={
            "data": data,
            "gzip": gzip.compress(data),
            "deflate": zlib.compress(data),
            "brotli": brotli.compress(data),
        },
    )
    result = succeeded(outcome)
    assert isinstance(result, list)
    same, *packed = result
    assert same == [True, True, True]
    assert [gzip.decompress(packed[0]), zlib.decompress(packed[1]), brotli.decompress(packed[2])] == [data] * 3


async def test_streams_of_zlib_are_bounded(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { createGzip, gzipSync } = await import('node:zlib');
      const failed = new Set();
      const streams = Array.from({ length: 300 }, () => createGzip().on('error', (error) => failed.add(error.code)));
      for (const stream of streams) stream.write('x');
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const stream of streams) stream.destroy();
      return [[...failed], gzipSync('after').length > 0];
    }""")
    assert succeeded(outcome) == [["Z_MEM_ERROR"], True]
    # What one run has left open is no burden to the next.
    left = await executor.execute("""async () => {
      const { createGzip } = await import('node:zlib');
      for (let i = 0; i < 250; i++) createGzip().on('error', () => {}).write('x');
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 1;
    }""")
    again = await executor.execute("""async () => (await import('node:zlib')).gunzipSync(
      (await import('node:zlib')).gzipSync('fine')).toString()""")
    assert [succeeded(left), succeeded(again)] == [1, "fine"]


async def test_a_bomb_is_bounded_by_the_output_that_was_asked_for(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
      const { gunzipSync, createGunzip } = await import('node:zlib');
      let refused;
      try { gunzipSync(this.env.bomb, { maxOutputLength: 1000000 }) } catch (error) { refused = error.message }
      const stream = createGunzip();
      let size = 0;
      stream.end(this.env.bomb);
      for await (const chunk of stream) if ((size += chunk.length) > 1000000) break;
      return [refused, size < 1500000, stream.destroyed];
    }""",
        env={"bomb": gzip.compress(bytes(60_000_000))},
    )
    assert succeeded(outcome) == ["Memory limit exceeded", True, True]


async def test_a_bomb_ends_its_own_run(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
      const { gunzipSync, gzipSync } = await import('node:zlib');
      const bomb = gzipSync(Buffer.alloc(20000000));
      const kept = [];
      for (;;) kept.push(gunzipSync(bomb));
    }""",
        limits=Limits(memory_mb=96, timeout_s=20),
    )
    assert outcome.error is not None
    assert "memory" in outcome.error.lower()
    assert succeeded(await executor.execute("async () => 1")) == 1


# --- HTMLRewriter -----------------------------------------------------------------------------------


async def test_a_document_is_the_same_however_it_is_cut(executor: IsolateExecutor) -> None:
    source = random.Random(11)
    words = (
        "<p>|</p>|<b a='1'>|</b>|<!-- c -->|text|é€😀|<br/>|<script>a<b</script>|&amp;|<|</|<svg><![CDATA[x]]></svg>|"
        '<title>t<b></title>|<!doctype html>| |<div x="y>z">|</div>|<!x>|<?y>'
    ).split("|")
    documents = ["".join(source.choice(words) for _ in range(60)) for _ in range(25)]
    outcome = await executor.execute(
        """async () => {
      const run = async (pieces) => {
        const log = [];
        const body = new ReadableStream({ start(c) { for (const piece of pieces) c.enqueue(piece); c.close() } });
        const say = (...words) => { log.push(words.join(' ')) };
        let text = '';
        const out = await new HTMLRewriter().on('*', {
          element(e) { say('element', e.tagName, [...e.attributes]); e.setAttribute('seen', '1') },
          comments(c) { say('comment', c.text) },
        }).onDocument({
          text(t) { text += t.text; if (t.lastInTextNode) { say('text', text); text = '' } },
          doctype(d) { say('doctype', d.name) },
        }).transform(new Response(body)).text();
        return JSON.stringify([out, log]);
      };
      const failures = [];
      for (const source of this.env.documents) {
        const bytes = new TextEncoder().encode(source);
        const whole = await run([bytes]);
        for (const size of [1, 2, 3, 7]) {
          const pieces = [];
          for (let i = 0; i < bytes.length; i += size) pieces.push(bytes.slice(i, i + size));
          if (await run(pieces) !== whole) failures.push([size, source]);
        }
      }
      return failures;
    }""",
        env={"documents": documents},
    )
    assert succeeded(outcome) == []


async def test_what_nobody_handles_goes_through_byte_by_byte(executor: IsolateExecutor) -> None:
    source = random.Random(3)
    noise = [source.randbytes(3000) for _ in range(20)] + [bytes(source.choice(b"<>/!-a=\"' ") for _ in range(3000))]
    outcome = await executor.execute(
        """async () => {
      const same = [];
      for (const bytes of this.env.noise) {
        const rewriter = new HTMLRewriter().on('no-such-element', { element() {}, text() {}, comments() {} });
        const out = await rewriter.transform(new Response(bytes)).bytes();
        same.push(Buffer.from(out).equals(bytes));
      }
      return same.every(Boolean);
    }""",
        env={"noise": noise},
    )
    assert succeeded(outcome) is True


async def test_a_long_document_and_a_deep_one(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const rows = '<tr><td class="a">1</td><td>2</td></tr>'.repeat(5000);
      let cells = 0;
      const count = { element(e) { cells++; e.setAttribute('n', cells) } };
      const out = await new HTMLRewriter().on('tr > td.a:nth-child(1)', count)
        .transform(new Response('<table>' + rows + '</table>')).text();
      let depth = 0;
      const deepen = new HTMLRewriter().on('div', { element() { depth++ } });
      await deepen.transform(new Response('<div>'.repeat(5000))).text();
      return [cells, out.includes('<td class="a" n="5000">'), depth];
    }""")
    assert succeeded(outcome) == [5000, True, 5000]


async def test_an_endless_document_ends_with_the_run(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
      const body = new ReadableStream({ pull(c) { c.enqueue(new TextEncoder().encode('<p>x</p>')) } });
      const reader = new HTMLRewriter().on('p', { element() {} }).transform(new Response(body)).body.getReader();
      for (;;) await reader.read();
    }""",
        limits=Limits(timeout_s=0.5),
    )
    assert outcome.error == "Execution timed out"
    assert succeeded(await executor.execute("async () => 1")) == 1


async def test_a_reader_that_goes_away_stops_the_source(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      let cancelled;
      const body = new ReadableStream({
        pull(c) { c.enqueue(new TextEncoder().encode('<p>x</p>')) },
        cancel(reason) { cancelled = reason },
      });
      const reader = new HTMLRewriter().on('p', { element() {} }).transform(new Response(body)).body.getReader();
      await reader.read();
      await reader.cancel('enough');
      await new Promise((resolve) => setTimeout(resolve, 5));
      return cancelled;
    }""")
    assert succeeded(outcome) == "enough"
