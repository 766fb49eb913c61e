// node:module: which modules there are, and `require` for those. Nothing loads files.
import { BUILTIN_MODULES } from './names.js'

const NOT_IMPLEMENTED = [
  'register', 'findPackageJSON', 'stripTypeScriptTypes', 'findSourceMap', 'SourceMap', 'setSourceMapsSupport', 'runMain',
  'syncBuiltinESMExports', 'wrap', '_debug', '_findPath', '_initPaths', '_load', '_preloadModules', '_resolveFilename',
  '_resolveLookupPaths', '_nodeModulePaths', 'registerHooks',
]

export default function install(realm) {
  realm.lazyModule('module', () => {
    const { errorClass, invalidArgValue } = realm.exports['node-errors']
    const NotImplemented = errorClass('ERR_METHOD_NOT_IMPLEMENTED')
    const refusing = (name) => ({
      [name]: function () {
        throw new NotImplemented(`The module.${name} method is not implemented`)
      },
    })[name]

    const Module = refusing('Module')
    for (const name of ['load', 'require', '_compile']) Module.prototype[name] = refusing(name)

    // The directory of a file decides what a relative specifier means.
    const pathOf = (value) => {
      const text = `${value}`
      if (text.startsWith('/')) return text
      if (text.startsWith('file:')) {
        const { protocol, pathname } = new realm.global.URL(text)
        if (protocol === 'file:') return pathname
      }
      throw invalidArgValue(
        'path', text, 'The argument must be a file URL object, a file URL string, or an absolute path string.',
      )
    }

    for (const name of NOT_IMPLEMENTED) Module[name] = refusing(name)
    Object.assign(Module, {
      constants: Object.freeze({
        __proto__: null,
        compileCacheStatus: Object.freeze({ __proto__: null, FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 }),
      }),
      enableCompileCache() {},
      flushCompileCache() {},
      getCompileCacheDir() {},
      getSourceMapsSupport() { return { __proto__: null, enabled: false, nodeModules: false, generatedCode: false } },
      createRequire(path) {
        const require = realm.exports.modules.requireFrom(pathOf(path).slice(1))
        return Object.defineProperty((id) => require(id), 'length', { value: 0 })
      },
      builtinModules: Object.freeze([...BUILTIN_MODULES]),
      globalPaths: [],
      // Whatever has the prefix, whether or not there is such a module.
      isBuiltin(name) {
        const text = `${name}`
        return text.startsWith('node:') || text === 'sqlite' || BUILTIN_MODULES.includes(text)
      },
      _cache: { __proto__: null },
      _extensions: { '.js': refusing('.js'), '.json': refusing('.json'), '.node': refusing('.node') },
      _pathCache: { __proto__: null },
      Module,
    })
    // Upstream has these on what makes a `require`, and not on what it makes.
    const members = {
      resolve: refusing('createRequire.resolve'), paths: refusing('createRequire.paths'),
      cache: { __proto__: null }, extensions: Module._extensions, main: undefined,
    }
    for (const key of Object.keys(members)) {
      Object.defineProperty(Module.createRequire, key, {
        __proto__: null, value: members[key], writable: true, enumerable: true, configurable: false,
      })
    }
    return { ...Module, default: Module }
  })
}
