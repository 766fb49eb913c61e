// Percent-encoding. Every set of the URL standard as a pattern: single ASCII characters, and runs of anything else, so
// that surrogate pairs stay together. Texts are well-formed by the time they come here.
export const CONTROL = /[\x00-\x1f\x7f]|[^\x00-\x7f]+/g
export const FRAGMENT = /[\x00-\x20"<>`\x7f]|[^\x00-\x7f]+/g
export const QUERY = /[\x00-\x20"#<>\x7f]|[^\x00-\x7f]+/g
export const SPECIAL_QUERY = /[\x00-\x20"#'<>\x7f]|[^\x00-\x7f]+/g
export const PATH = /[\x00-\x20"#<>?^`{}\x7f]|[^\x00-\x7f]+/g
export const USERINFO = /[\x00-\x20"#/:;<=>?@[\\\]^`{|}\x7f]|[^\x00-\x7f]+/g

const encodeRun = (run) => {
  const code = run.charCodeAt(0)
  if (code > 0x7f) return encodeURIComponent(run)
  return (code < 0x10 ? '%0' : '%') + code.toString(16).toUpperCase()
}

export const percentEncode = (text, set) => text.replace(set, encodeRun)
