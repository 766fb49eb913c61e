// Type arguments in a text that parses as JavaScript, where they are comparisons.

const SPACE = /\s*/y;
const NAME = /(?:typeof\s+)?[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const MEMBER = /\.[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const STRING = /"[^"\\\n]*"|'[^'\\\n]*'/y;
const NUMBER = /\d+/y;

const MAX_NESTING = 10;
/** Type arguments are written on a line or a few: no text is scanned from each `<` to its end. */
const MAX_LENGTH = 2000;

/**
 * Whether type arguments open at an offset, and are followed by the arguments of a call.
 *
 * One type argument makes the text `a<b>(c)`, which as JavaScript compares a boolean. With more
 * of them it is `a<b,c>(d)`, which between the brackets of a call could be meant as two
 * comparisons: there it takes names that stand for no value of the program.
 *
 * @param {string} text
 * @param {number} offset of the `<`
 * @param {ReadonlySet<string>} values names that the program gives to values that can be compared
 * @returns {boolean}
 */
export function closesTypeArguments(text, offset, values) {
  if (!/[\p{ID_Continue}$]/u.test(text[offset - 1] ?? "")) return false;
  const scan = new Scan(text.slice(offset, offset + MAX_LENGTH));
  const count = scan.list();
  if (count === 0 || scan.isNumber || !/[(`]/.test(scan.text[scan.offset] ?? "")) return false;
  return count === 1 || scan.names.every((name) => !values.has(name));
}

/** Reads types as they can stand in a text that also parses as JavaScript. */
class Scan {
  constructor(text) {
    this.text = text;
    this.offset = 0;
    this.depth = 0;
    /** Whether nothing but numbers stands there. */
    this.isNumber = true;
    /** @type {string[]} */
    this.names = [];
  }

  /** `<A, B>`: how many there are, or 0 if that is not what stands there. */
  list() {
    this.depth += 1;
    if (this.depth > MAX_NESTING || !this.#take("<") || /\s/.test(this.text[this.offset] ?? "")) return 0;
    let count = 0;
    do {
      if (!this.#type()) return 0;
      count += 1;
    } while (this.#take(","));
    this.depth -= 1;
    return this.#take(">") ? count : 0;
  }

  #type() {
    this.#take("|");
    do {
      if (!this.#operand()) return false;
    } while (this.#take("|") || this.#take("&"));
    return true;
  }

  #operand() {
    this.#match(SPACE);
    if (this.#match(NUMBER) !== undefined) return true;
    this.isNumber = false;
    if (this.#match(STRING) !== undefined) return true;
    const name = this.#match(NAME);
    if (name !== undefined) {
      this.names.push(name);
      while (this.#match(MEMBER) !== undefined);
      return this.text[this.offset] === "<" ? this.list() > 0 : true;
    }
    return this.#brackets();
  }

  // What they enclose has parsed, and types enclose nothing in which a bracket is no bracket.
  #brackets() {
    if (!/[({[]/.test(this.text[this.offset] ?? "")) return false;
    let open = 0;
    for (let at = this.offset; at < this.text.length; at += 1) {
      const character = this.text[at];
      if ("({[".includes(character)) open += 1;
      else if (")}]".includes(character)) open -= 1;
      else if ("'\"`/=".includes(character)) return false;
      if (open === 0) {
        this.offset = at + 1;
        return true;
      }
    }
    return false;
  }

  #take(character) {
    const before = this.offset;
    if (character !== "<" && character !== ">") this.#match(SPACE);
    if (this.text[this.offset] !== character) {
      this.offset = before;
      return false;
    }
    this.offset += 1;
    return true;
  }

  #match(pattern) {
    pattern.lastIndex = this.offset;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.offset = pattern.lastIndex;
    return found[0];
  }
}
