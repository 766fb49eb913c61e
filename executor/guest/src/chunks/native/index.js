// What classes that look like those of workerd are made of, for the chunks that have such.
import * as bytes from '../readable-streams/bytes.js'
import * as native from '../readable-streams/native.js'
import * as utf8 from '../readable-streams/utf8.js'

export default function install() {
  return { native, bytes, utf8 }
}
