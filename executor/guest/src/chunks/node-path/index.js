// node:path. Paths are cut at separators into segments; only what comes before them, the root, differs between the two
// kinds. There is no working directory: it is the root.

const isSlash = (unit) => unit === '/'
const isEither = (unit) => unit === '/' || unit === '\\'
const isDrive = (path) => /^[A-Za-z]:/.test(path)

// '.' and '..' removed; a '..' that would leave the root is dropped, a relative one is kept.
const normalizeSegments = (path, isSep, sep, absolute) => {
  const kept = []
  let from = 0
  for (let i = 0; i <= path.length; i++) {
    if (i < path.length && !isSep(path[i])) continue
    const segment = path.slice(from, i)
    from = i + 1
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.length > 0 && kept[kept.length - 1] !== '..') kept.pop()
    else if (!absolute) kept.push('..')
  }
  return kept.join(sep)
}

const commonSegments = (from, to) => {
  let common = 0
  while (common < from.length && common < to.length && from[common] === to[common]) common += 1
  return common
}

// Where the last segment begins and ends, trailing separators aside; `start` is where the root ends.
const lastSegment = (path, start, isSep) => {
  let end = path.length
  while (end > start && isSep(path[end - 1])) end -= 1
  let begin = end
  while (begin > start && !isSep(path[begin - 1])) begin -= 1
  return { begin, end }
}

const extensionOf = (base) => {
  const dot = base.lastIndexOf('.')
  return dot <= 0 || base === '..' ? '' : base.slice(dot)
}

// \\server\share, a drive, or a separator.
const windowsRoot = (path) => {
  if (isEither(path[0])) {
    const match = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path)
    if (match === null) return { device: '', absolute: true, end: 1 }
    return { device: '\\\\' + match[1] + '\\' + match[2], absolute: true, end: match[0].length }
  }
  if (!isDrive(path)) return { device: '', absolute: false, end: 0 }
  const absolute = isEither(path[2] ?? '')
  return { device: path.slice(0, 2), absolute, end: absolute ? 3 : 2 }
}

// As above, with the separator that follows a share.
const windowsRootEnd = (path) => {
  const { device, end } = windowsRoot(path)
  return device.startsWith('\\\\') && end < path.length ? end + 1 : end
}

const create = ({ validateString, validateObject }) => {
  const shared = ({ kind, sep, suffixName, isSep, rootEnd, prefixEnd }) => ({
    basename(path, suffix) {
      if (suffix !== undefined) validateString(suffix, suffixName)
      validateString(path, 'path')
      if (suffix !== undefined && suffix !== '' && suffix === path) return ''
      const { begin, end } = lastSegment(path, prefixEnd(path), isSep)
      const base = path.slice(begin, end)
      return suffix !== undefined && base !== suffix && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base
    },
    extname(path) {
      validateString(path, 'path')
      const { begin, end } = lastSegment(path, prefixEnd(path), isSep)
      return extensionOf(path.slice(begin, end))
    },
    format(pathObject) {
      validateObject(pathObject, 'pathObject')
      const dir = pathObject.dir || pathObject.root
      let { ext } = pathObject
      if (ext && ext[0] !== '.') ext = '.' + ext
      const base = pathObject.base || (pathObject.name || '') + (ext || '')
      if (!dir) return base
      return dir === pathObject.root ? dir + base : dir + sep + base
    },
    parse(path) {
      validateString(path, 'path')
      const rootLength = rootEnd(path)
      const root = path.slice(0, rootLength)
      const { begin, end } = lastSegment(path, rootLength, isSep)
      const base = path.slice(begin, end)
      const ext = extensionOf(base)
      const dir = begin > rootLength ? path.slice(0, begin - 1) : root
      return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) }
    },
    matchesGlob(path, pattern) {
      throw new Error('path.' + kind + '.matchesGlob() is not implemented.')
    },
  })

  const posixShared = shared({
    kind: 'posix', sep: '/', suffixName: 'ext', isSep: isSlash,
    rootEnd: (path) => (path[0] === '/' ? 1 : 0),
    prefixEnd: () => 0,
  })
  const posix = {
    resolve(...paths) {
      let whole = ''
      for (let i = paths.length - 1; i >= 0 && whole[0] !== '/'; i--) {
        validateString(paths[i], 'paths[' + i + ']')
        if (paths[i] !== '') whole = paths[i] + '/' + whole
      }
      return '/' + normalizeSegments(whole, isSlash, '/', true)
    },
    normalize(path) {
      validateString(path, 'path')
      if (path === '') return '.'
      const absolute = path[0] === '/'
      let tail = normalizeSegments(path, isSlash, '/', absolute)
      if (tail === '') return absolute ? '/' : path.endsWith('/') ? './' : '.'
      if (path.endsWith('/')) tail += '/'
      return absolute ? '/' + tail : tail
    },
    isAbsolute(path) {
      validateString(path, 'path')
      return path[0] === '/'
    },
    join(...paths) {
      for (const path of paths) validateString(path, 'path')
      return posix.normalize(paths.filter((path) => path !== '').join('/'))
    },
    relative(from, to) {
      validateString(from, 'from')
      validateString(to, 'to')
      const segments = (path) => posix.resolve(path).split('/').filter((segment) => segment !== '')
      const here = segments(from)
      const there = segments(to)
      const common = commonSegments(here, there)
      return [...here.slice(common).fill('..'), ...there.slice(common)].join('/')
    },
    toNamespacedPath(path) { return path },
    dirname(path) {
      validateString(path, 'path')
      if (path === '') return '.'
      let end = path.length
      while (end > 1 && path[end - 1] === '/') end -= 1
      while (end > 0 && path[end - 1] !== '/') end -= 1
      if (end === 0) return '.'
      if (end === 1) return '/'
      return end === 2 && path[0] === '/' ? '//' : path.slice(0, end - 1)
    },
    ...posixShared,
    sep: '/',
    delimiter: ':',
    win32: null,
    posix: null,
  }

  const win32Shared = shared({
    kind: 'win32', sep: '\\', suffixName: 'suffix', isSep: isEither,
    rootEnd: windowsRootEnd,
    prefixEnd: (path) => (isDrive(path) ? 2 : 0),
  })
  const lower = (text) => text.toLowerCase()
  const win32 = {
    resolve(...paths) {
      let device = ''
      let tail = ''
      let absolute = false
      for (let i = paths.length - 1; i >= -1; i--) {
        const path = i < 0 ? '\\' : paths[i]
        if (i >= 0) validateString(path, 'paths[' + i + ']')
        if (path === '') continue
        const root = windowsRoot(path)
        if (root.device !== '') {
          if (device !== '' && lower(root.device) !== lower(device)) continue
          device ||= root.device
        }
        if (absolute) {
          if (device !== '') break
          continue
        }
        tail = path.slice(root.end) + '\\' + tail
        absolute = root.absolute
        if (absolute && device !== '') break
      }
      tail = normalizeSegments(tail, isEither, '\\', absolute)
      return device + (absolute ? '\\' : '') + tail || '.'
    },
    normalize(path) {
      validateString(path, 'path')
      if (path === '') return '.'
      const { device, absolute, end } = windowsRoot(path)
      let tail = normalizeSegments(path.slice(end), isEither, '\\', absolute)
      if (tail === '' && !absolute) tail = '.'
      if (tail !== '' && end < path.length && isEither(path[path.length - 1])) tail += '\\'
      return device + (absolute ? '\\' : '') + tail
    },
    isAbsolute(path) {
      validateString(path, 'path')
      return path !== '' && windowsRoot(path).absolute
    },
    join(...paths) {
      for (const path of paths) validateString(path, 'path')
      const parts = paths.filter((path) => path !== '')
      if (parts.length === 0) return '.'
      let joined = parts.join('\\')
      // Only the first part may be meant as \\server\share.
      if (!/^[\\/]{2}[^\\/]/.test(parts[0])) joined = joined.replace(/^[\\/]{2,}/, '\\')
      return win32.normalize(joined)
    },
    relative(from, to) {
      validateString(from, 'from')
      validateString(to, 'to')
      if (from === to) return ''
      const whole = win32.resolve(to)
      const segments = (path) => path.split('\\').filter((segment) => segment !== '')
      const here = segments(lower(win32.resolve(from)))
      const there = segments(whole)
      const common = commonSegments(here, segments(lower(whole)))
      if (common === 0 && here.length > 0 && there.length > 0) return whole
      return [...here.slice(common).fill('..'), ...there.slice(common)].join('\\')
    },
    toNamespacedPath(path) {
      if (typeof path !== 'string' || path === '') return path
      const whole = win32.resolve(path)
      if (whole.length <= 2) return path
      if (whole.startsWith('\\\\')) return /^\\\\[?.]/.test(whole) ? whole : '\\\\?\\UNC\\' + whole.slice(2)
      return isDrive(whole) && whole[2] === '\\' ? '\\\\?\\' + whole : whole
    },
    dirname(path) {
      validateString(path, 'path')
      if (path === '') return '.'
      const { device, end: rootLength } = windowsRoot(path)
      const start = windowsRootEnd(path)
      if (device.startsWith('\\\\') && rootLength === path.length) return path
      let end = path.length
      while (end > start && isEither(path[end - 1])) end -= 1
      while (end > start && !isEither(path[end - 1])) end -= 1
      if (end > start) return path.slice(0, end - 1)
      return start === 0 ? '.' : path.slice(0, start)
    },
    ...win32Shared,
    sep: '\\',
    delimiter: ';',
    win32: null,
    posix: null,
  }
  for (const one of [posix, win32]) Object.assign(one, { win32, posix })
  return { posix, win32 }
}

export default function install(realm) {
  let made
  const both = () => (made ??= create(realm.exports['node-errors']))
  realm.lazyModule('path', () => both().posix)
  realm.lazyModule('path/posix', () => both().posix)
  realm.lazyModule('path/win32', () => both().win32)
  return { get posix() { return both().posix } }
}
