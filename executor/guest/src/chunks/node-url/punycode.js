// Hosts as a reader sees them: the labels that begin with xn-- decoded (RFC 3492).

const adapt = (delta, points, first) => {
  delta = first ? Math.floor(delta / 700) : delta >> 1
  delta += Math.floor(delta / points)
  let k = 0
  for (; delta > 455; k += 36) delta = Math.floor(delta / 35)
  return k + Math.floor(36 * delta / (delta + 38))
}

const decodeLabel = (label) => {
  const text = label.slice(4)
  const output = []
  const hyphen = text.lastIndexOf('-')
  for (let i = 0; i < hyphen; i++) output.push(text.charCodeAt(i))
  let n = 128
  let i = 0
  let bias = 72
  for (let at = hyphen > 0 ? hyphen + 1 : 0; at < text.length;) {
    const before = i
    let weight = 1
    for (let k = 36; ; k += 36) {
      const unit = text.charCodeAt(at++)
      const digit = unit >= 48 && unit <= 57 ? unit - 22 : unit >= 97 && unit <= 122 ? unit - 97 : -1
      if (digit === -1) return label
      i += digit * weight
      const threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
      if (digit < threshold) break
      weight *= 36 - threshold
    }
    bias = adapt(i - before, output.length + 1, before === 0)
    n += Math.floor(i / (output.length + 1))
    i %= output.length + 1
    if (n > 0x10ffff) return label
    output.splice(i++, 0, n)
  }
  return String.fromCodePoint(...output)
}

export const toUnicode = (host) => host.split('.').map((label) => (label.startsWith('xn--') ? decodeLabel(label) : label)).join('.')
