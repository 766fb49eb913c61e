// What amaro needs of TextEncoder and TextDecoder, which a bare V8 does not have.

const REPLACEMENT = 0xfffd;
const CHUNK = 8192;

export class TextEncoder {
  /**
   * @param {string} text
   * @returns {Uint8Array}
   */
  encode(text) {
    const bytes = new Uint8Array(text.length * 3);
    return bytes.slice(0, this.encodeInto(text, bytes).written);
  }

  /**
   * @param {string} text
   * @param {Uint8Array} bytes long enough
   */
  encodeInto(text, bytes) {
    let at = 0;
    for (let index = 0; index < text.length; index += 1) {
      let point = text.charCodeAt(index);
      if (point < 0x80) {
        bytes[at++] = point;
        continue;
      }
      if (point >= 0xd800 && point < 0xe000) {
        point = text.codePointAt(index);
        if (point > 0xffff) index += 1;
        else point = REPLACEMENT;
      }
      if (point < 0x800) {
        bytes[at++] = 0xc0 | (point >> 6);
      } else {
        if (point > 0xffff) {
          bytes[at++] = 0xf0 | (point >> 18);
          bytes[at++] = 0x80 | ((point >> 12) & 0x3f);
        } else {
          bytes[at++] = 0xe0 | (point >> 12);
        }
        bytes[at++] = 0x80 | ((point >> 6) & 0x3f);
      }
      bytes[at++] = 0x80 | (point & 0x3f);
    }
    return { read: text.length, written: at };
  }
}

export class TextDecoder {
  /**
   * @param {Uint8Array} [bytes] well-formed UTF-8: they are a Rust string
   * @returns {string}
   */
  decode(bytes = new Uint8Array()) {
    let text = "";
    let units = [];
    for (let at = 0; at < bytes.length; ) {
      const first = bytes[at++];
      if (first < 0x80) {
        units.push(first);
      } else {
        const length = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        let point = first & (0x3f >> length);
        for (let more = 0; more < length; more += 1) point = (point << 6) | (bytes[at++] & 0x3f);
        if (point > 0xffff) {
          point -= 0x10000;
          units.push(0xd800 | (point >> 10));
          point = 0xdc00 | (point & 0x3ff);
        }
        units.push(point);
      }
      if (units.length >= CHUNK) {
        text += String.fromCharCode(...units);
        units = [];
      }
    }
    return text + String.fromCharCode(...units);
  }
}
