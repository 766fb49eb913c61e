// For the build: the modules of readable-stream that stand for Node's own are replaced by those of `package/`, which are
// the platform's. The rest of the package is taken as it is.
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const REPLACED = {
  'abort-controller': 'abort-controller',
  buffer: 'buffer',
  events: 'events',
  'string_decoder/': 'string-decoder',
  errors: 'errors',
  process: 'process',
  util: 'util',
  validators: 'validators',
}

const here = path.dirname(fileURLToPath(import.meta.url))

export const readableStreamPlugin = {
  name: 'readable-stream',
  setup(build) {
    build.onResolve({ filter: /^(?:abort-controller|buffer|events|string_decoder\/|\..*\/(?:errors|process|util|validators))$/ }, (given) => {
      if (!/[/\\]readable-stream[/\\]/.test(given.importer)) return undefined
      const name = given.path.startsWith('.') ? path.basename(given.path) : given.path
      return { path: path.join(here, 'package', `${REPLACED[name]}.js`) }
    })
  },
}
