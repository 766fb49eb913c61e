"""Streams, bodies, forms, compression and the network that is not there, where no other engine has to be asked."""

from __future__ import annotations

import asyncio
import email
import email.policy
import gzip
import random
import zlib
from typing import Any

import pytest

from codemode_executor import IsolateExecutor, Provider

pytestmark = pytest.mark.asyncio(loop_scope="module")

BLOCKED = (
    "This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities"
    " (such as bindings in 'env') to talk to the outside world."
)

COMPRESS = """
const through = async (stream, bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(stream)).bytes()
"""


async def run(executor: IsolateExecutor, program: str, **tools: Any) -> Any:
    outcome = await executor.execute(program, providers=[Provider("host", tools)])
    assert outcome.error is None, outcome.error
    return outcome.result


def returning(value: object) -> Any:
    async def tool() -> object:
        return value

    return tool


# --- text and bytes ---------------------------------------------------------------------------------------------------


async def test_bodies_decode_as_utf_8_does(executor: IsolateExecutor) -> None:
    generator = random.Random(5)
    pieces = [
        b"a",
        "é".encode(),
        "€".encode(),
        "😀".encode(),
        b"\xff",
        b"\xc0",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xed\xa0",
        b"\x80",
    ]
    samples = [b"".join(generator.choices(pieces, k=generator.randrange(40))) for _ in range(200)]
    samples += [generator.randbytes(64) for _ in range(200)]
    samples.append(("é😀x" * 5000).encode() + b"\xf0\x9f")
    texts = await run(
        executor,
        "async () => Promise.all((await host.samples()).map((bytes) => new Response(bytes).text()))",
        samples=returning(samples),
    )
    assert texts == [sample.decode("utf-8", "replace") for sample in samples]


async def test_bodies_encode_as_utf_8_does(executor: IsolateExecutor) -> None:
    generator = random.Random(6)
    alphabet = "a\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"
    samples = ["".join(generator.choices(alphabet, k=generator.randrange(60))) for _ in range(200)]
    encoded = await run(
        executor,
        "async () => Promise.all((await host.samples()).map((text) => new Response(text).bytes()))",
        samples=returning(samples),
    )
    assert [bytes(one) for one in encoded] == [sample.encode() for sample in samples]


async def test_byte_streams_give_every_byte_once(executor: IsolateExecutor) -> None:
    """Whatever the sizes in which they are written and read."""
    generator = random.Random(7)
    plans = [
        {
            "writes": [generator.randrange(1, 6000) for _ in range(generator.randrange(1, 8))],
            "reads": [generator.choice([0, generator.randrange(1, 5000)]) for _ in range(6)],
        }
        for _ in range(40)
    ]
    results = await run(
        executor,
        """async () => {
          const results = []
          for (const { writes, reads } of await host.plans()) {
            let next = 0
            let at = 0
            const stream = new ReadableStream({
              type: 'bytes',
              pull(controller) {
                if (at === writes.length) {
                  controller.close()
                  return
                }
                controller.enqueue(Uint8Array.from({ length: writes[at++] }, () => next++))
              },
            })
            const seen = []
            for (let i = 0; ; i++) {
              // 0: without a buffer of the reader's
              const size = reads[i % reads.length]
              const reader = size === 0 ? stream.getReader() : stream.getReader({ mode: 'byob' })
              const { done, value } = size === 0 ? await reader.read() : await reader.read(new Uint8Array(size))
              reader.releaseLock()
              if (done) break
              for (const byte of value) seen.push(byte)
            }
            results.push([seen.length, seen.every((byte, i) => byte === i % 256)])
          }
          return results
        }""",
        plans=returning(plans),
    )
    assert results == [[sum(plan["writes"]), True] for plan in plans]


async def test_a_pipe_stops_reading_when_the_sink_is_slow(executor: IsolateExecutor) -> None:
    pulled, written = await run(
        executor,
        """async () => {
          let pulled = 0
          let written = 0
          const source = new ReadableStream({ pull(c) { c.enqueue(pulled++) } })
          const sink = new WritableStream({
            write() {
              written++
              return new Promise(() => {})
            },
          })
          source.pipeTo(sink)
          await new Promise((resolve) => setTimeout(resolve, 20))
          return [pulled, written]
        }""",
    )
    assert written == 1
    assert pulled <= 4


# --- forms ------------------------------------------------------------------------------------------------------------


async def test_multipart_is_what_other_parsers_read(executor: IsolateExecutor) -> None:
    content_type, body = await run(
        executor,
        """async () => {
          const form = new FormData()
          form.append('plain', 'value é')
          form.append('plain', 'again\\r\\n--not a boundary')
          form.append('file', new File([new Uint8Array([0, 255, 13, 10, 45, 45])], 'a b.bin', { type: 'image/png' }))
          const response = new Response(form)
          return [response.headers.get('content-type'), await response.bytes()]
        }""",
    )
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.message_from_bytes(head + bytes(body), policy=email.policy.HTTP)
    parts = list(message.iter_parts())
    assert [part.get_param("name", header="content-disposition") for part in parts] == ["plain", "plain", "file"]
    assert [part.get_payload(decode=True) for part in parts] == [
        "value é".encode(),
        b"again\r\n--not a boundary",
        b"\x00\xff\r\n--",
    ]
    assert parts[2].get_content_type() == "image/png"
    assert parts[2].get_filename() == "a b.bin"


async def test_boundaries_cannot_be_foretold(executor: IsolateExecutor) -> None:
    program = "async () => [1, 2].map(() => new Response(new FormData()).headers.get('content-type'))"
    seen = [await run(executor, program), await run(executor, program)]
    assert len({one for pair in seen for one in pair}) == 4


# --- compression ------------------------------------------------------------------------------------------------------

WINDOW_BITS = {"gzip": 31, "deflate": 15, "deflate-raw": -15}


def samples() -> list[bytes]:
    generator = random.Random(8)
    return [b"", b"a", b"ab" * 70_000, generator.randbytes(150_000), bytes(1_000_000)]


@pytest.mark.parametrize("format", WINDOW_BITS)
async def test_others_read_what_a_program_compresses(executor: IsolateExecutor, format: str) -> None:
    compressed = await run(
        executor,
        f"""async () => {{
          {COMPRESS}
          const results = []
          for (const bytes of await host.samples()) {{
            results.push(await through(new CompressionStream('{format}'), bytes))
          }}
          return results
        }}""",
        samples=returning(samples()),
    )
    assert [zlib.decompress(bytes(one), WINDOW_BITS[format]) for one in compressed] == samples()


@pytest.mark.parametrize("format", WINDOW_BITS)
async def test_a_program_reads_what_others_compressed(executor: IsolateExecutor, format: str) -> None:
    def compress(data: bytes, level: int) -> bytes:
        stream = zlib.compressobj(level, zlib.DEFLATED, WINDOW_BITS[format])
        return stream.compress(data) + stream.flush()

    given = [compress(data, level) for data in samples() for level in (1, 9)]
    expected = [[len(data), zlib.crc32(data)] for data in samples() for _ in (1, 9)]
    found = await run(
        executor,
        f"""async () => {{
          {COMPRESS}
          const lengths = []
          for (const bytes of await host.given()) {{
            const data = await through(new DecompressionStream('{format}'), bytes)
            lengths.push([data.length, await host.crc(data)])
          }}
          return lengths
        }}""",
        given=returning(given),
        crc=lambda data: zlib.crc32(data),
    )
    assert found == expected


async def test_data_arrives_in_any_pieces(executor: IsolateExecutor) -> None:
    text = await run(
        executor,
        """async () => {
          const bytes = await host.given()
          const stream = new DecompressionStream('gzip')
          const writer = stream.writable.getWriter()
          const text = new Response(stream.readable).text()
          for (const byte of bytes) await writer.write(new Uint8Array([byte]))
          await writer.close()
          return text
        }""",
        given=returning(gzip.compress(b"one byte after the other " * 20)),
    )
    assert text == "one byte after the other " * 20


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_bomb_ends_its_run_and_nothing_else(executor: IsolateExecutor) -> None:
    bomb = zlib.compress(bytes(400_000_000), 9)
    assert len(bomb) < 400_000
    outcome = await executor.execute(
        f"""async () => {{
          {COMPRESS}
          return (await through(new DecompressionStream('deflate'), await host.bomb())).length
        }}""",
        providers=[Provider("host", {"bomb": returning(bomb)})],
    )
    assert outcome.error is not None
    assert "memory" in outcome.error


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_bomb_that_is_read_and_dropped_runs_until_the_deadline(executor: IsolateExecutor) -> None:
    """No piece of it holds the worker up, so that the deadline is kept."""
    bomb = zlib.compress(bytes(20_000_000), 9)
    total = await run(
        executor,
        """async () => {
          const bomb = await host.bomb()
          const stream = new DecompressionStream('deflate')
          const writer = stream.writable.getWriter()
          let total = 0
          const reading = stream.readable.pipeTo(new WritableStream({ write(chunk) { total += chunk.length } }))
          for (let i = 0; i < bomb.length; i += 2000) await writer.write(bomb.subarray(i, i + 2000))
          await writer.close()
          await reading
          return total
        }""",
        bomb=returning(bomb),
    )
    assert total == 20_000_000


@pytest.mark.usefixtures("leaves_nothing")
async def test_open_streams_are_bounded_and_end_with_their_run(executor: IsolateExecutor) -> None:
    program = """async () => {
      let open = 0
      try {
        for (; open < 1000; open++) {
          await new CompressionStream('gzip').writable.getWriter().write(new Uint8Array(1))
        }
      } catch (error) {
        return [open, error.message]
      }
    }"""
    for _ in range(2):
        assert await run(executor, program) == [256, "at most 256 streams compress or decompress at a time"]


async def test_streams_that_end_make_room(executor: IsolateExecutor) -> None:
    ended = await run(
        executor,
        """async () => {
          const ways = [
            (stream, writer) => writer.close(),
            (stream, writer) => writer.abort('enough'),
            (stream) => stream.readable.cancel('enough'),
          ]
          let ended = 0
          for (; ended < 600; ended++) {
            const stream = new CompressionStream('gzip')
            const writer = stream.writable.getWriter()
            await writer.write(new Uint8Array(1))
            await ways[ended % ways.length](stream, writer)
          }
          return ended
        }""",
    )
    assert ended == 600


# --- the network ------------------------------------------------------------------------------------------------------


async def test_nothing_reaches_a_server(executor: IsolateExecutor) -> None:
    """One that listens on this very machine."""
    connections = 0

    def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        refused = await run(
            executor,
            f"""async () => {{
              const {{ connect }} = await import('cloudflare:sockets')
              const attempts = [
                () => fetch('http://127.0.0.1:{port}/'),
                () => fetch(new Request('http://localhost:{port}/', {{ method: 'POST', body: 'x' }})),
                () => new WebSocket('ws://127.0.0.1:{port}/'),
                () => connect('127.0.0.1:{port}'),
                () => connect({{ hostname: 'localhost', port: {port} }}),
                () => new Promise((resolve, reject) => {{
                  new EventSource('http://127.0.0.1:{port}/').onerror = (event) => reject(event.error)
                }}),
              ]
              const seen = []
              for (const attempt of attempts) {{
                try {{
                  await attempt()
                  seen.push('went through')
                }} catch (error) {{
                  seen.push(error.message)
                }}
              }}
              return seen
            }}""",
        )
        await asyncio.sleep(0.05)
    assert refused == [BLOCKED] * 6
    assert connections == 0


# --- a program that tampers -------------------------------------------------------------------------------------------

TAMPER = """
const seen = new Set()
const names = new Set(['hostCall', 'randomFill', 'primordials', 'setTimer', 'defineEnumerable'])
const found = []
let looking = false
const look = (value, depth = 0) => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
  if (seen.has(value) || depth > 3) return
  seen.add(value)
  for (const key of Reflect.ownKeys(value)) {
    if (names.has(key)) found.push(String(key))
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key)
    if (descriptor && 'value' in descriptor) look(descriptor.value, depth + 1)
  }
  look(Reflect.getPrototypeOf(value), depth + 1)
}
for (const holder of [
  Promise.prototype, Promise, Array.prototype, Map.prototype, Set.prototype, Function.prototype, String.prototype,
  Uint8Array.prototype, Object.getPrototypeOf(Uint8Array.prototype), ArrayBuffer.prototype, Object, Reflect, JSON,
  RegExp.prototype, Number, Array, Uint8Array, String, Date, Symbol,
]) {
  for (const key of Reflect.ownKeys(holder)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key)
    if (typeof descriptor.value !== 'function' || !descriptor.configurable || key === 'constructor') continue
    if (holder === Reflect || holder === Set.prototype || key === Symbol.hasInstance) continue
    const original = descriptor.value
    const { apply, construct } = Reflect
    Reflect.defineProperty(holder, key, {
      ...descriptor,
      value: function (...args) {
        if (!looking) {
          looking = true
          look(this)
          for (let i = 0; i < args.length; i++) look(args[i])
          looking = false
        }
        return new.target === undefined ? apply(original, this, args) : construct(original, args, new.target)
      },
    })
  }
}
Error.prepareStackTrace = (error, sites) => {
  for (const site of sites) {
    look(site.getThis())
    look(site.getFunction())
  }
  return 'stack'
}
"""


@pytest.mark.usefixtures("leaves_nothing")
async def test_patched_builtins_see_nothing_of_the_harness(executor: IsolateExecutor) -> None:
    result = await run(
        executor,
        f"""async () => {{
          {TAMPER}
          const uses = [
            async () => new Response(new FormData()).text(),
            async () => new Response('text').formData().catch((error) => error.stack),
            async () => new Response(new Blob(['x']).stream().pipeThrough(new CompressionStream('gzip'))).bytes(),
            async () => new Response(new Blob(['x']).stream().pipeThrough(new DecompressionStream('gzip'))).bytes(),
            async () => ReadableStream.from(['a']).pipeThrough(new TextEncoderStream()).tee()[1].getReader().read(),
            async () => fetch('data:text/plain;base64,aGk=').then((response) => response.blob()),
            async () => fetch('http://a.b').catch((error) => error.stack),
            async () => caches.default.match('http://a.b').catch((error) => error.stack),
            async () => {{
              const [a, b] = new WebSocketPair()
              a.accept()
              b.accept()
              b.addEventListener('message', (event) => look(event))
              a.send('x')
              await new Promise((resolve) => setTimeout(resolve, 5))
            }},
            async () => structuredClone(new Headers({{ a: 'b' }})),
            async () => new Headers().get('a b'),
          ]
          let done = 0
          for (const use of uses) {{
            try {{
              look(await use())
            }} catch (error) {{
              look(error)
              look(error.stack)
            }}
            done++
          }}
          const leaked = [...found]
          Object.keys({{ hostCall: 1 }}) // what a leak would look like
          return [done, leaked, found]
        }}""",
    )
    assert result == [11, [], ["hostCall"]]


async def test_states_are_not_reachable(executor: IsolateExecutor) -> None:
    """An object of the platform shows no key and no symbol of its own."""
    keys = await run(
        executor,
        """async () => [
          new Headers({ a: '1' }), new Request('https://a.b'), new Response('x'), new Blob(['x']), new File([], 'x'),
          new FormData(), new ReadableStream(), new WritableStream(), new TransformStream(), new Response('x').body,
          new ReadableStream().getReader(), new CompressionStream('gzip'), new WebSocketPair()[0],
        ].flatMap((object) => Reflect.ownKeys(object))""",
    )
    assert keys == []
