// Node's modules that programs can import where this engine's are made to run, whether or not they are offered here.
// What is not among them fails there, too, and with the same text.
const THERE =
  ' _stream_duplex _stream_passthrough _stream_readable _stream_transform _stream_writable _tls_common _tls_wrap assert' +
  ' assert/strict async_hooks buffer constants crypto diagnostics_channel dns dns/promises events fs/promises module net' +
  ' path path/posix path/win32 process querystring stream stream/consumers stream/promises stream/web string_decoder sys' +
  ' timers timers/promises tls url util util/types zlib test '

const CLOUDFLARE = ' cloudflare:workers cloudflare:sockets '

export const isKnown = (specifier) =>
  specifier.startsWith('node:') ? THERE.includes(' ' + specifier.slice(5) + ' ') : CLOUDFLARE.includes(' ' + specifier + ' ')
