// swc erases a type declaration together with its semicolon, which may have been what kept the
// statement before apart from the one behind:
//
//   let a = 1
//   type Id = string
//   ;[a].forEach(f)

/**
 * Puts back the semicolons that the text needs.
 *
 * @param {string} source TypeScript
 * @param {string} stripped the same, erased: each character is where it was
 * @returns {string}
 */
export function restoreSemicolons(source, stripped) {
  let text = "";
  let done = 0;
  for (let at = source.indexOf(";"); at !== -1; at = source.indexOf(";", Math.max(at + 1, done))) {
    if (stripped[at] === ";") continue;
    const start = stripped.slice(done, at).trimEnd().length + done;
    const behind = /\S/.exec(stripped.slice(at));
    const end = behind === null ? stripped.length : at + behind.index;
    const semicolon = endOfStatement(source, start, end);
    if (semicolon !== undefined && isNeeded(stripped, start, end)) {
      text += `${stripped.slice(done, semicolon)};`;
      done = semicolon + 1;
    }
    done = Math.max(done, end);
    text += stripped.slice(text.length, done);
  }
  return text + stripped.slice(text.length);
}

// Comments, strings and what counts between them.
const TOKENS =
  /\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|[()[\]{};]/gs;

// The first semicolon of the erased part that no bracket encloses: types have them only inside
// of brackets.
function endOfStatement(source, start, end) {
  const erased = source.slice(start, end);
  let open = 0;
  for (const token of erased.matchAll(TOKENS)) {
    const [text] = token;
    if ("([{".includes(text)) open += 1;
    else if (")]}".includes(text)) open -= 1;
    else if (text === ";" && open <= 0) return start + token.index;
  }
  return undefined;
}

const MAY_GO_ON = /^(?:[([`/*+\-.,?<>=&|^%!]|in\b|instanceof\b)/;

function isNeeded(stripped, start, end) {
  const before = stripped.slice(Math.max(0, start - 20), start);
  if (before.trim() === "" || before.endsWith(";") || before.endsWith("{")) return false;
  // A label wants a statement.
  return before.endsWith(":") || MAY_GO_ON.test(stripped.slice(end, end + 20));
}
