// What a specifier names. The rules are those of the engine whose programs run here: a specifier is a path, also
// without a leading `./`; a Node module is meant where its name is one, or begins with `node:`.

// Node's own modules: a bare name of one of them is never a path.
const NODE_MODULES =
  '_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _stream_duplex _stream_passthrough' +
  ' _stream_readable _stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap assert assert/strict' +
  ' async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain' +
  ' events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix path/win32' +
  ' perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises' +
  ' stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi' +
  ' worker_threads zlib '

/**
 * @typedef {{ kind: 'module', name: string } | { kind: 'builtin', name: string } | { kind: 'missing', text: string }} Meaning
 */

/**
 * @param {string} specifier
 * @param {string} referrer name of the module that imports; '' for the program
 * @param {(name: string) => boolean} has whether there is a module of that name
 * @returns {Meaning}
 */
export const meaningOf = (specifier, referrer, has) => {
  if (has(specifier)) {
    if (specifier.startsWith('node:')) return { kind: 'module', name: specifier }
  }
  if (/^(?:node|cloudflare|workerd):/.test(specifier)) return { kind: 'builtin', name: specifier }
  if (specifier !== '' && NODE_MODULES.includes(' ' + specifier + ' ')) return { kind: 'builtin', name: 'node:' + specifier }
  const isBare = !/^(?:\/|\.\.?(?:\/|$))/.test(specifier)
  const name = join(referrer, specifier)
  if (name === undefined) return { kind: 'missing', text: 'No such module "' + specifier + '"' }
  if (has(name)) return { kind: 'module', name }
  // A package, as everybody else reads a bare name: the one at the root.
  const atRoot = isBare ? join('', specifier) : undefined
  if (atRoot !== undefined && has(atRoot)) return { kind: 'module', name: atRoot }
  return { kind: 'missing', text: 'No such module "' + name + '".' }
}

const join = (referrer, specifier) => {
  const path = specifier.startsWith('/') ? [] : referrer.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') path.push(part)
    else if (path.pop() === undefined) return undefined
  }
  return path.join('/') || '.'
}

/** A module's name as it is given, as a path from the root. */
export const normalName = (name) => join('', name) ?? name
