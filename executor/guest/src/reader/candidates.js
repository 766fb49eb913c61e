// Which part of a text is the program. Models send words around it, fences of all kinds, and
// the arguments of the call instead of the program in them.
//
// The text as upstream reads it comes first: a part of it is looked for only where the whole
// is no program, or is one that cannot run because a fence reads as a tagged template.

import { answerTo, refusal } from "./answer.js";
import { Refusal } from "./errors.js";
import { MAX_BLOCKS, fencedBlocks, stripFences } from "./fences.js";
import { languageOf, marksData, otherLanguage, parsesAsJson } from "./foreign.js";
import { endsInsideToken } from "./parse.js";
import { blank } from "./wrap.js";

/** A fence inside of arguments inside of a fence, and no more. */
const MAX_NESTING = 3;

const SEND_ONE = "send one JavaScript program, without fences";

const ONLY_A_FENCE =
  "the text contains a markdown fence that is no part of a program: send one program, without fences";

const PROGRAM_MEMBERS = new Set(["code", "script", "program"]);

/**
 * The answer for the program in a text.
 *
 * @param {string} text
 * @param {import("./library.js").Library} library
 * @returns {import("./answer.js").Answered}
 */
export function interpret(text, library) {
  return choose(text, library, MAX_NESTING);
}

function choose(text, library, nesting) {
  const stripped = stripFences(text);
  const program = withoutHashbang(stripped);
  const whole = answerTo(program, library);
  if ((whole.answer.ok && !whole.fenceIsTag) || nesting === 0) return whole;
  const argument = programMember(program);
  if (argument !== undefined) return choose(argument, library, nesting - 1);
  const inside = fenced(text, library, stripped !== text, nesting - 1);
  if (inside !== undefined) return inside;
  return whole.answer.ok ? { ...whole, answer: { ...whole.answer, hint: ONLY_A_FENCE } } : whole;
}

// `#!/usr/bin/env node` is a comment only at the start of a file.
function withoutHashbang(text) {
  const line = /^\s*#![^\n\r\u2028\u2029]*/.exec(text);
  return line === null ? text : blank(line[0]) + text.slice(line[0].length);
}

// `{"code": "…"}`: the arguments of the call, sent as one of them.
function programMember(text) {
  const value = parsesAsJson(text) ? JSON.parse(text) : undefined;
  if (value === null || typeof value !== "object") return undefined;
  const keys = Object.keys(value);
  if (keys.length !== 1 || !PROGRAM_MEMBERS.has(keys[0])) return undefined;
  return typeof value[keys[0]] === "string" ? value[keys[0]] : undefined;
}

// Where upstream takes the text for one block, an error is about the program in that one.
function fenced(text, library, isOneBlock, nesting) {
  const blocks = fencedBlocks(text);
  if (blocks.length === 0) return undefined;
  const before = text.slice(0, blocks[0].offset);
  // A fence inside of a comment or a string of the program is the program's own.
  if (endsInsideToken(before)) return undefined;
  if (blocks.length > MAX_BLOCKS) {
    return refusedAt(text, blocks[1], `the text contains more than ${MAX_BLOCKS} fenced blocks: ${SEND_ONE}`);
  }
  const possible = blocks.filter(({ tag }) => languageOf(tag) === undefined);
  const programLike = possible.filter(({ tag }) => !marksData(tag));
  const leading = leadingProgram(before, library);
  const likely = programLike.length > 0 || leading !== undefined ? programLike : possible;
  const readings = likely.map((block) => ({ block, ...choose(block.text, library, nesting) }));
  const programs = readings.filter(({ answer }) => answer.ok);
  if (leading !== undefined) {
    if (programs.length === 0) return leading;
    return refusedAt(text, programs[0].block, `the text contains a program before a fenced one: ${SEND_ONE}`);
  }
  if (programs.length === 1) return programs[0];
  if (programs.length > 1) {
    return refusedAt(text, programs[1].block, `the text contains ${programs.length} fenced programs: ${SEND_ONE}`);
  }
  if (isOneBlock) return undefined;
  if (readings.length === 1) return readings[0];
  if (blocks.length > 1) {
    return refusedAt(text, blocks[0], `none of the ${blocks.length} fenced blocks is a program: ${SEND_ONE}`);
  }
  return refusal(blocks[0].text, new Refusal(otherLanguage(languageOf(blocks[0].tag)), 0));
}

// Words that happen to parse are no program; those with the marks of code may be one.
function leadingProgram(before, library) {
  if (!/[=(){}]|\b(?:await|return)\b/.test(before)) return undefined;
  const leading = answerTo(before, library);
  return leading.answer.ok && !leading.fenceIsTag ? leading : undefined;
}

function refusedAt(text, block, message) {
  return refusal(text, new Refusal(message, block.offset));
}
