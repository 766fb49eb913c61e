// The proof of parse. A text that passes here can be put between the brackets of a function
// without closing them, because acorn has read it as one complete statement list (or one
// complete expression) and V8 will read the same tokens.
//
// acorn reads with the module goal, V8 with the script goal inside a strict async function.
// The two agree on every token except where this file refuses the text:
//   - `<!--` and, at the start of a line, `-->` are comments to a script and operators to a
//     module;
//   - `#!` is a comment to acorn at the start of a text;
//   - acorn decides from what it has seen whether `/` starts a regular expression, V8 from
//     what its grammar allows. They could part only where a line ends without a semicolon
//     and the next one starts with `/`: ECMAScript reads a division there. acorn 8.19 is seen
//     to be wrong in one such place, after `a = async function () {}`.
// Everything else in which the goals differ is stricter in a module: `await` is reserved
// everywhere, code is strict, legacy octal escapes and `with` are errors.

import { Parser as AcornParser, tokTypes } from "acorn";
import { HTML_COMMENT, Refusal } from "./errors.js";
import { References, WATCHED } from "./references.js";

const LINE_BREAK = /[\n\r\u2028\u2029]/;

const { braceL, bracketL, parenL, dollarBraceL } = tokTypes;
const OPENING = new Set([braceL, bracketL, parenL, dollarBraceL]);
const CLOSING = new Set([tokTypes.braceR, tokTypes.bracketR, tokTypes.parenR]);

class Parser extends AcornParser {
  /** @type {Reading | undefined} */
  reading;

  parseImportMeta(node) {
    this.reading?.importTokens.push(node.start);
    return super.parseImportMeta(node);
  }

  parseDynamicImport(node) {
    this.reading?.importTokens.push(node.start);
    const made = super.parseDynamicImport(node);
    this.reading?.dynamicImports.push(made.source);
    return made;
  }

  parseExportDefaultDeclaration() {
    const start = this.lastTokEnd;
    const declaration = super.parseExportDefaultDeclaration();
    declaration.behindDefault = start; // brackets around it are no part of the node
    return declaration;
  }

  parseFunctionParams(node) {
    node.paramsStart = this.start;
    super.parseFunctionParams(node);
  }

  declareName(name, ...more) {
    if (WATCHED.has(name)) this.reading?.watched.add(name);
    super.declareName(name, ...more);
  }

  parseSubscript(...parts) {
    const node = super.parseSubscript(...parts);
    if (node.type === "TaggedTemplateExpression" && !this.inFunction) this.reading?.noteTag(node);
    return node;
  }

  /** The names that are declared in the program's outermost scope. */
  declared() {
    const { var: vars, lexical, functions } = this.scopeStack[0];
    return new Set([...vars, ...lexical, ...functions]);
  }
}

/** Reads the text as the body of a function instead of as a module. */
class FunctionBodyParser extends Parser {
  // In a function two declarations of one name are allowed, in a module they are not.
  treatFunctionsAsVarInScope(scope) {
    return scope === this.scopeStack[0] || super.treatFunctionsAsVarInScope(scope);
  }
}

/** One pass over one text, with what its tokens told. */
export class Reading {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** @type {Map<string, number>} names of identifiers and properties, and how often each occurs */
    this.identifiers = new Map();
    /** @type {Set<string>} names declared in the outermost scope */
    this.names = new Set();
    /** Whether a fence is read as template literals that can do nothing but throw. */
    this.fenceIsTag = false;
    /** @type {Set<string>} names that are called by a fence, unless they are declared */
    this.fenceTags = new Set();
    /** @type {any} the tree of the last parse that succeeded */
    this.tree = undefined;
    /** @type {(reading: Reading) => any} how it was made */
    this.parsedAs = (reading) => reading.module();
    /** What the text refers to that it may not have declared itself. */
    this.references = new References();
    /** @type {Set<string>} names of the platform that are declared somewhere in the text */
    this.watched = new Set();
    /** @type {number[]} offsets of `import` in `import(…)` and `import.meta` */
    this.importTokens = [];
    /** @type {any[]} what is imported by `import(…)` */
    this.dynamicImports = [];
    /** @type {number[]} offsets of the `#` of comments that V8 would read as directives */
    this.magicComments = [];
    /** @type {{ label: string, offset: number }[]} brackets open at this point */
    this.unclosed = [];
    this.previousEnd = 0;
    this.insertedSemicolon = -1;
  }

  /**
   * Takes over what another reading of the same offsets has seen.
   *
   * @param {Reading} other
   */
  adopt(other) {
    for (const [name, times] of other.identifiers) {
      this.identifiers.set(name, (this.identifiers.get(name) ?? 0) + times);
    }
    for (const offset of other.magicComments) this.magicComments.push(offset);
    for (const offset of other.importTokens) this.importTokens.push(offset);
    for (const source of other.dynamicImports) this.dynamicImports.push(source);
    for (const name of other.watched) this.watched.add(name);
    this.references.adopt(other.references);
    this.tree = other.tree;
    this.unclosed = other.unclosed;
    this.fenceIsTag = other.fenceIsTag;
  }

  /** The program as a module's statement list, as upstream reads it. */
  module() {
    return this.#parse(Parser, {});
  }

  /** The program as the statement list of an async function: with `return` at its top. */
  functionBody() {
    this.parsedAs = (reading) => reading.functionBody();
    return this.#parse(FunctionBodyParser, { allowReturnOutsideFunction: true });
  }

  /** The text as the body of a CommonJS module's function. */
  commonJs() {
    return this.#parse(Parser, { sourceType: "script", allowReturnOutsideFunction: true, allowHashBang: true });
  }

  /** The program as one expression, with any number of semicolons behind it. */
  expression() {
    this.parsedAs = (reading) => reading.expression();
    const parser = new Parser(this.#options({}), this.text, 0);
    parser.reading = this;
    parser.nextToken();
    const node = parser.parseExpression();
    while (parser.eat(tokTypes.semi));
    if (parser.type !== tokTypes.eof) parser.unexpected();
    this.tree = { type: "Program", body: [{ type: "ExpressionStatement", expression: node }] };
    return node;
  }

  /**
   * A tagged template outside of functions has been read. "```" at the start of a line is an
   * empty template literal that is the tag of another one, or is tagged by what stands before
   * the line: a string is no function, and neither is a variable that does not exist.
   */
  noteTag({ tag, quasi }) {
    if (tag.type === "TemplateLiteral") {
      if (this.#isFence(tag.start)) this.fenceIsTag = true;
    } else if (this.#isFence(quasi.start)) {
      let root = tag;
      while (root.type === "MemberExpression" && !root.computed) root = root.object;
      if (root.type === "Literal") this.fenceIsTag = true;
      else if (root.type === "Identifier") this.fenceTags.add(root.name);
    }
  }

  #isFence(offset) {
    if (!this.text.startsWith("```", offset)) return false;
    let start = offset;
    while (start > 0 && " \t".includes(this.text[start - 1])) start -= 1;
    return start === 0 || LINE_BREAK.test(this.text[start - 1]);
  }

  #parse(Kind, options) {
    const parser = new Kind(this.#options(options), this.text);
    parser.reading = this;
    const tree = parser.parse();
    this.tree = tree;
    this.names = parser.declared();
    for (const name of this.fenceTags) if (!this.names.has(name)) this.fenceIsTag = true;
    return tree;
  }

  #options(more) {
    return {
      ecmaVersion: "latest",
      sourceType: "module",
      allowHashBang: false,
      onToken: (token) => this.#token(token),
      onInsertedSemicolon: (end) => {
        this.insertedSemicolon = end;
      },
      onComment: (isBlock, _text, start) => {
        const mark = this.text[start + 2];
        if (!isBlock && (mark === "#" || mark === "@")) this.magicComments.push(start + 2);
      },
      ...more,
    };
  }

  #token(token) {
    const { type, start, end } = token;
    if (type === tokTypes.name) {
      this.identifiers.set(token.value, (this.identifiers.get(token.value) ?? 0) + 1);
    }
    this.references.token(type, token.value);
    if (OPENING.has(type)) this.unclosed.push({ label: type.label, offset: start });
    else if (CLOSING.has(type)) this.unclosed.pop();
    else if (type === tokTypes.relational) this.#refuseHtmlOpening(start);
    else if (type === tokTypes.incDec) this.#refuseHtmlClosing(start);
    else if (type === tokTypes.regexp) this.#refuseDoubtfulRegExp(start);
    this.previousEnd = end;
  }

  #refuseHtmlOpening(start) {
    if (this.text.startsWith("<!--", start)) throw new Refusal(HTML_COMMENT, start);
  }

  #refuseHtmlClosing(start) {
    if (!this.text.startsWith("-->", start)) return;
    const gap = this.text.slice(this.previousEnd, start);
    if (this.previousEnd === 0 || LINE_BREAK.test(gap)) throw new Refusal(HTML_COMMENT, start);
  }

  #refuseDoubtfulRegExp(start) {
    if (this.insertedSemicolon === this.previousEnd && this.previousEnd > 0) {
      throw new Refusal(
        "a line that starts with a regular expression needs a semicolon at the end of the line before",
        start,
      );
    }
  }
}

/**
 * Whether a text ends inside of a template literal or a comment, whatever its grammar is.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function endsInsideToken(text) {
  const tokens = AcornParser.tokenizer(text, { ecmaVersion: "latest", sourceType: "module" });
  try {
    while (tokens.getToken().type !== tokTypes.eof);
    return false;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return /^Unterminated (?:template|comment)/.test(error.message);
  }
}
