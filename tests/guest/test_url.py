"""URLs where no other engine is needed to know what is right.

The library that upstream's runtime parses its URLs with is the measure of values, beside the tests of
web-platform-tests as data; see ``url_data/build.py``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import ada_url
import pytest

from codemode_executor import IsolateExecutor
from codemode_executor.worker.host_calls import GuestError
from codemode_executor.worker.idna import MAX_LENGTH, idna_to_unicode, url_host

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = Path(__file__).parent / "url_data"
BATCH = 500
MEMBERS = "href origin protocol username password host hostname port pathname search hash".split()

PARSE = """async () => {
  const members = %s
  return %s.map(([text, base]) => {
    let url
    try {
      url = base === null ? new URL(text) : new URL(text, base)
    } catch (error) {
      if (error.message !== 'Invalid URL string.') throw error
      return null
    }
    return members.map((name) => url[name])
  })
}"""
SET = """async () => {
  const members = %s
  return %s.map(([text, name, value]) => {
    const url = new URL(text)
    try {
      url[name] = value
    } catch (error) {
      if (name !== 'href') throw error
    }
    return members.map((name) => url[name])
  })
}"""

Row = list[str | None]
#: The members of a URL in their order; None for what is none.
Parsed = list[str] | None


async def ask(executor: IsolateExecutor, program: str, rows: list[Any]) -> list[Any]:
    answers: list[Any] = []
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        outcome = await executor.execute(program % (json.dumps(MEMBERS), json.dumps(batch)))
        assert outcome.error is None, outcome.error
        assert isinstance(outcome.result, list)
        assert len(outcome.result) == len(batch)
        answers += outcome.result
    return answers


def well_formed(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def library_parses(text: str, base: str | None) -> Parsed:
    try:
        url = ada_url.URL(well_formed(text), base)
    except ValueError:
        return None
    return [getattr(url, name) for name in MEMBERS]


def library_sets(text: str, name: str, value: str) -> Parsed:
    url = ada_url.URL(text)
    try:
        setattr(url, name, well_formed(value))
    except ValueError:
        pass
    return [getattr(url, name) for name in MEMBERS]


# --- the tests of web-platform-tests --------------------------------------------------------------


def data(name: str) -> Any:
    path = DATA / name
    assert path.exists(), f"{name} is not there: run `make setup`, or python tests/guest/url_data/build.py"
    return json.loads(path.read_bytes())


#: ``^`` in a path is percent-encoded since November 2023: the data is older.
ENCODES_CARETS = {
    "foo://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~",
    "wss://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~",
}


async def test_parses_what_the_data_says(executor: IsolateExecutor) -> None:
    rows = [row for row in data("urltestdata.json") if isinstance(row, dict)]
    assert len(rows) == 820
    bases = [None if row.get("base") is None else row["base"] for row in rows]
    answers = await ask(executor, PARSE, [[row["input"], base] for row, base in zip(rows, bases, strict=True)])
    apart = {row["input"] for row, answer in zip(rows, answers, strict=True) if not _is_as_expected(row, answer)}
    assert apart == ENCODES_CARETS


def _is_as_expected(row: dict[str, Any], answer: Parsed) -> bool:
    if row.get("failure"):
        return answer is None
    if answer is None:
        return False
    got = dict(zip(MEMBERS, answer, strict=True))
    return all(got[name] == row[name] for name in MEMBERS if name in row)


#: A space at the end of an opaque path stays, encoded, since 2025, and ``^`` as above.
SETS_OTHERWISE = {
    ("pathname", "a:/"): 1,
    ("search", "data:space ?query"): 1,
    ("search", "sc:space ?query"): 1,
    ("search", "data:space  ?query#fragment"): 1,
    ("search", "sc:space  ?query#fragment"): 1,
    ("hash", "data:space"): 1,
    ("hash", "sc:space    #fragment"): 1,
    ("hash", "data:space  ?query#fragment"): 1,
    ("hash", "sc:space  ?query#fragment"): 1,
}


async def test_sets_what_the_data_says(executor: IsolateExecutor) -> None:
    tests = [(name, row) for name, rows in data("setters_tests.json").items() if name != "comment" for row in rows]
    assert len(tests) == 254
    answers = await ask(executor, SET, [[row["href"], name, row["new_value"]] for name, row in tests])
    apart: dict[tuple[str, str], int] = {}
    for (name, row), answer in zip(tests, answers, strict=True):
        got = dict(zip(MEMBERS, answer, strict=True))
        if any(got[member] != expected for member, expected in row["expected"].items()):
            key = (name, "data:space" if row["href"].startswith("data:space   ") else row["href"])
            apart[key] = apart.get(key, 0) + 1
    assert apart == SETS_OTHERWISE


async def test_hosts_are_what_the_data_says(executor: IsolateExecutor) -> None:
    rows = [row for name in ("toascii.json", "IdnaTestV2.json") for row in data(name) if isinstance(row, dict)]
    assert len(rows) == 2071
    texts = [f"https://{row['input']}/x" for row in rows]
    answers = await ask(executor, PARSE, [[text, None] for text in texts])
    hosts = [None if answer is None else answer[MEMBERS.index("host")] for answer in answers]
    assert answers == [library_parses(text, None) for text in texts]
    # The data's Unicode is that of 2023. In newer ones more characters may be part of a name; that Punycode within
    # Punycode is none has always been so upstream. An empty name makes a URL whose host is its path.
    apart = [row for row, host in zip(rows, hosts, strict=True) if host != row["output"]]
    assert len([row for row in apart if row["output"] is None]) == 84
    assert [row["input"] for row in apart if row["output"] is not None] == ["xn--xn--a--gua.pt", ""]


# --- made-up texts --------------------------------------------------------------------------------

TOKENS = """
http: https: HTTP: file: foo: data: blob: ws: ftp: mailto: javascript: // / /// \\ \\\\ / ? # : @ a b example.com
C: C| c:/ /C|/ .. . %2e %2E. ../ ./ /.. /. localhost 127.0.0.1 0x7f.1 [::1] [1::2] [ ] :80 :443 :65536 :0 user pw
user:pw@ @@ % %41 %zz é ☃ 😀 " ' < > ` { } | ^ ~ ! $ & ( ) * + , ; = - _ 1 256 08 1.2.3.4 //..// /.// xn-- xn--zca
xn--a %00 .a a. ..a &a=1 ß.de 日本
""".split()
TOKENS += [" ", "\t", "\n", "\x00", "\x01", "\x7f", "\xa0", "\u3000", "\ufeff", "\u0301"]
STARTS = ["http://", "https://", "foo://", "file://", "//", "ws:", "http:", "", ""]
BASES = """http://h/a/b/c?q#f https://u:p@h:8080/a/../b file:///C:/a/b file://host/a/b/c file:///a foo://h/a/b foo:/a/b
foo:opaque foo://h data:x http://h foo:///a foo:/.//p blob:https://a/ mailto:x@y foo:opaque?q#f file:///C:""".split()
TO_SET = """http://h/p?q#f https://u:p@h:8443/p file:///C:/p file://h/p foo://h/p foo://h foo:/p foo:op?q#f foo:///p
mailto:a http://1.2.3.4:99/ foo://u@h:9/ foo:/.//p ws://h:81 ftp://h/""".split()
SETTABLE = [name for name in MEMBERS if name != "origin"]
COUNT = 6000


def _made_up(chance: random.Random, most: int) -> str:
    return "".join(chance.choice(TOKENS) for _ in range(chance.randint(0, most)))


def _is_opaque(url: str) -> bool:
    return url.partition(":")[0] in ("data", "mailto", "blob") or url.startswith("foo:o")


def made_up_references() -> Iterator[Row]:
    chance = random.Random(20260101)
    for _ in range(COUNT):
        text = chance.choice(STARTS) + _made_up(chance, 6)
        base = chance.choice([None, chance.choice(BASES)])
        # The documented difference "url-standard-corners".
        if base is not None and _is_opaque(base) and "#" in text:
            continue
        yield [text, base]


def made_up_changes() -> Iterator[list[str]]:
    chance = random.Random(20260102)
    for _ in range(COUNT):
        url, name = chance.choice(TO_SET), chance.choice(SETTABLE)
        # As above.
        if name in ("host", "hostname") and url.startswith("foo:/") and not url.startswith("foo://"):
            continue
        yield [url, name, _made_up(chance, 4)]


async def test_parses_as_upstreams_library(executor: IsolateExecutor) -> None:
    rows = list(made_up_references())
    expected = [library_parses(str(text), base) for text, base in rows]
    assert 0.2 < sum(parsed is None for parsed in expected) / len(rows) < 0.8
    answers = await ask(executor, PARSE, rows)
    assert [(row, answer) for row, answer, right in zip(rows, answers, expected, strict=True) if answer != right] == []


async def test_sets_as_upstreams_library(executor: IsolateExecutor) -> None:
    rows = list(made_up_changes())
    answers = await ask(executor, SET, rows)
    expected = [library_sets(*row) for row in rows]
    assert [(row, answer) for row, answer, right in zip(rows, answers, expected, strict=True) if answer != right] == []


async def test_reads_and_writes_forms_as_upstreams_library(executor: IsolateExecutor) -> None:
    chance = random.Random(20260103)
    pieces = [f"%{byte:02X}" for byte in (*range(0x20, 0x100, 7), 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xED, 0xA0, 0xC0)]
    pieces += ["&", "&", "=", "=", "+", "%", "%4", "%zz", "a", "é", "😀", "~", "*", "'", "(", "\x00", "?", "#"]
    rows = ["".join(chance.choice(pieces) for _ in range(chance.randint(0, 12))) for _ in range(2000)]
    program = """async () => {
      const members = %s
      return %s.map((text) => {
        const params = new URLSearchParams('?' + text)
        const before = [[...params], params.toString()]
        params.sort()
        return [...before, params.toString()]
      })
    }"""
    answers = await ask(executor, program, rows)
    for row, answer in zip(rows, answers, strict=True):
        # The library's own pairs are bytes, which its Python interface does not show if they are not UTF-8.
        pairs = [list(pair) for pair in parse_qsl(row, keep_blank_values=True, errors="replace")]
        params = ada_url.URLSearchParams("?" + row)
        assert answer[:2] == [pairs, str(params)], row
        if not any("\ufffd" in text for pair in pairs for text in pair):
            params.sort()
            assert answer[2] == str(params), row


# --- what a program may try -----------------------------------------------------------------------

WRAP = """
  const seen = []
  let busy = false
  const restore = []
  for (const owner of [String, String.prototype, RegExp.prototype, Array, Array.prototype, Map.prototype, JSON, Object,
    Reflect, Function.prototype, Set.prototype, Number, Symbol, Iterator.prototype]) {
    for (const key of Reflect.ownKeys(owner)) {
      const { value, configurable } = Object.getOwnPropertyDescriptor(owner, key)
      if (typeof value !== 'function' || !configurable || key === 'constructor') continue
      const apply = Reflect.apply
      const wrapped = { f(...args) {
        if (!busy) {
          busy = true
          seen[seen.length] = this
          for (let i = 0; i < args.length; i++) seen[seen.length] = args[i]
          busy = false
        }
        return apply(value, this, args)
      } }.f
      restore[restore.length] = () => { owner[key] = value }
      owner[key] = wrapped
    }
  }
"""
SUSPECTS = """
  busy = true
  for (let i = 0; i < restore.length; i++) restore[i]()
  const isSuspect = (value) => {
    if (typeof value === 'string') return value.includes('url_host') || value.includes('"name"')
    if (Object(value) !== value) return false
    return 'hostCall' in value || 'url_host' in value || value.name === 'hostCall' || value.name === 'call'
  }
  return [seen.length, seen.filter(isSuspect).length]
"""


async def test_patched_builtins_see_nothing_of_the_worker(executor: IsolateExecutor) -> None:
    use = """
      const url = new URL('../é?x=ü%E9', 'http://bücher.example:8080/a/b')
      url.host = 'größe.example'
      url.searchParams.append('k', 'v')
      for (const [key] of url.searchParams) url.searchParams.has(key)
      url.searchParams.sort()
      new URLPattern('https://:name.com/:id(\\\\d+)?').exec('https://ö.com/5')
    """
    outcome = await executor.execute("async () => {" + WRAP + use + SUSPECTS + "}")
    assert outcome.error is None
    count, suspects = outcome.result
    assert count > 100
    assert suspects == 0


async def test_a_patched_builtin_would_be_found_to_see_it(executor: IsolateExecutor) -> None:
    control = "JSON.parse('[\"name\"]'); Reflect.ownKeys({ hostCall() {} })"
    outcome = await executor.execute("async () => { URL;" + WRAP + control + SUSPECTS + "}")
    assert outcome.error is None
    assert outcome.result[1] == 2


async def test_call_sites_and_callers_give_no_function_away(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      Error.prepareStackTrace = (_, sites) => sites
      let frames = 0
      const found = []
      const look = (text) => ({ toString() {
        for (const site of new Error().stack) {
          frames++
          found.push(site.getFunction(), site.getThis())
        }
        for (const f of [look, URL, URL.parse, URLSearchParams, URLPattern, URLPattern.prototype.exec]) {
          try {
            found.push(f.caller, f.arguments)
          } catch (error) {
            if (error.name !== 'TypeError') throw error
          }
        }
        return text
      } })
      URL.parse(look('http://bücher.example/'))
      new URL(look('http://bücher.example/')).href = look('http://a')
      new URLSearchParams({ a: look('b') })
      new URLPattern({ pathname: look('/x') }).exec(look('http://a/'))
      return [frames > 20, found.filter((value) => value !== undefined && value !== null).length]
    }""")
    assert outcome.error is None
    assert outcome.result == [True, 0]


async def test_long_texts_are_parsed(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const long = 'a'.repeat(500_000)
      const up = new URL('http://h/' + 'x/../'.repeat(200_000) + 'end')
      const deep = new URL('../'.repeat(100_000), 'http://h/' + 'a/'.repeat(100_000))
      const spaces = new URL(' '.repeat(1_000_000) + 'http://h/' + ' '.repeat(1_000_000) + 'x')
      const params = new URLSearchParams(Array.from({ length: 50_000 }, (_, i) => ['k' + (i % 10), String(i)]))
      params.sort()
      return [
        new URL('http://' + long + '/' + long).href.length, up.pathname, deep.pathname, spaces.pathname.length,
        params.size, params.keys().next().value, new URL('http://h/?' + params).searchParams.getAll('k9').length,
      ]
    }""")
    assert outcome.error is None
    assert outcome.result == [1_000_008, "/end", "/", 3_000_002, 50_000, "k0", 5_000]


async def test_a_host_that_the_worker_will_not_look_at_is_no_host(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        f"async () => [{MAX_LENGTH}, {MAX_LENGTH + 1}, 1_000_000]"
        ".map((length) => [URL.canParse('http://' + 'é'.repeat(length)), URL.canParse('http://' + 'e'.repeat(length))])"
    )
    assert outcome.result == [[True, True], [False, True], [False, True]]


async def test_hosts_are_remembered_and_not_mixed_up(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const hosts = Array.from({ length: 200 }, (_, i) => 'é' + i + '.example')
      const round = () => hosts.map((host) => new URL('http://' + host).host).join()
      return [round() === round(), new Set(round().split(',')).size, URL.canParse('http://xn--a'), URL.canParse('http://xn--a')]
    }""")
    assert outcome.result == [True, 200, False, False]


# --- the worker's part ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "serialized"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("%C3%A9", "xn--9ca"),
        ("\uff11.2", "1.0.0.2"),
        ("xn--a", None),
        ("", None),
        ("é\x01", None),
        ("é ", None),
    ],
)
async def test_the_worker_knows_hosts(host: str, serialized: str | None) -> None:
    assert url_host({"host": host}, []) == (serialized, b"")


async def test_the_worker_shows_names() -> None:
    assert idna_to_unicode({"host": "xn--bcher-kva.example"}, []) == ("bücher.example", b"")


@pytest.mark.parametrize("operation", [url_host, idna_to_unicode])
@pytest.mark.parametrize("params", [{}, {"host": 5}, {"host": None}, {"host": "é" * (MAX_LENGTH + 1)}])
async def test_the_worker_refuses(operation: Any, params: dict[str, Any]) -> None:
    with pytest.raises(GuestError, match="at most 4096 characters"):
        operation(params, [])
