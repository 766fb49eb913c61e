// What a text is that is not JavaScript. Only texts that do not parse are asked about, and only
// where parsing stopped: programs carry other languages in strings.

const INSTEAD =
  "send a JavaScript program that uses the given functions, such as `async () => { return 1 }`";

const LANGUAGES = new Map(
  Object.entries({
    Python: ["python", "py", "python3", "ipython", "pycon"],
    "a shell script": ["bash", "sh", "shell", "zsh", "fish", "shell-session", "terminal"],
    PowerShell: ["powershell", "pwsh", "ps1"],
    SQL: ["sql", "postgresql", "mysql", "sqlite"],
    markup: ["html", "xml", "svg"],
    CSS: ["css", "scss"],
    YAML: ["yaml", "yml"],
    Ruby: ["ruby", "rb"],
    Go: ["go", "golang"],
    Rust: ["rust", "rs"],
    Java: ["java"],
    C: ["c", "cpp", "c++", "csharp", "cs", "c#"],
    PHP: ["php"],
  }).flatMap(([language, tags]) => tags.map((tag) => [tag, language])),
);
const DATA = new Set([
  ...["json", "jsonc", "json5", "jsonl", "ndjson", "csv", "diff", "md", "markdown"],
  ...["text", "txt", "plaintext", "plain", "output", "console", "log"],
]);

/** The language that a fence's tag names, unless it may be JavaScript. */
export function languageOf(tag) {
  return LANGUAGES.get(tag);
}

/** Whether a fence's tag marks something that is shown beside a program. */
export function marksData(tag) {
  return DATA.has(tag);
}

export function otherLanguage(language) {
  return `the text is ${language}, and only JavaScript runs here: ${INSTEAD}`;
}

export const JSON_IS_NO_PROGRAM =
  `the text is JSON, not a program: ${INSTEAD},` +
  " or put `return` in front of it if it is the answer";

const JSON_IS_BROKEN = `the text looks like JSON that is not complete or not valid: ${INSTEAD}`;
const PROSE_FIRST =
  "the text starts with prose: send only the program, in JavaScript, such as `async () => { return 1 }`";

/** Whether a text is a JSON object. (Other JSON is JavaScript as it stands.) */
export function parsesAsJson(text) {
  const source = text.trim();
  if (!source.startsWith("{") || !source.endsWith("}")) return false;
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false; // that is the answer
  }
}

// Words that only a shell has for a first word, and words that need an argument to tell.
const COMMAND =
  /^(?:\$ |sudo )?(?:ls|cd|pwd|npm|npx|pnpm|yarn|bun|deno|node|python3?|pip3?|uv|curl|wget|git|gh|grep|rg|mkdir|rmdir|rm|cp|mv|chmod|chown|docker|kubectl|apt|apt-get|brew|bash|sh|zsh|sudo|echo|cat|sed|awk|tar|ssh|jq|df|du|ps|whoami|uname)(?=[ \t]|$)/;
const COMMAND_WITH_ARGUMENT =
  /^(?:\$ |sudo )?(?:find|make|head|tail|touch|which|source|export|sort|wc|env|kill|tree|diff|open|go|cargo)[ \t]+(?:-{1,2}\w|[./~$*"']|\w+=)/;
const NOT_COMMAND = /^\w+[ \t]*(?:[=(,;?:]|\.\w|=>)/;

const PYTHON = [
  /^\s*(?:async\s+)?def\s+\w+\s*\(/,
  /^\s*class\s+\w+\s*(?:\([\w.,\s=]*\))?\s*:/,
  /^\s*from\s+[\w.]+\s+import\s+[\w*(]/,
  /^\s*import\s+[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*\s*(?:#.*)?$/,
  // JavaScript has a bracket behind these words.
  /^\s*(?:async\s+)?(?:if|elif|while|for|with|except)(?:\s+[^\s(].*|\s*\(.*\)\s*)?:\s*(?:#.*)?$/,
  /^\s*(?:try|else|finally)\s*:\s*(?:#.*)?$/,
  /^\s*(?:async\s+)?for\s+\w+(?:\s*,\s*\w+)*\s+in\s+[^{]*:/,
  /^\s*(?:(?:raise|del|nonlocal|elif)\s+\w|pass\s*$)/,
  /(?:^|[\s(=,[])(?:f|rf|fr)["']/,
  /(?:^|[\s(=,])lambda(?:\s+\w+(?:\s*,\s*\w+)*)?\s*:/,
  /[[({][^\]})]*\bfor\s+\w+(?:\s*,\s*\w+)*\s+in\b/,
  /^\s*(?:\w+\s*=\s*)?(?:"""|''')/,
  /=\s*\S.*\sif\s+[^\s(].*\selse\s/,
  /\bis\s+(?:not\s+)?None\b/,
  /^\s*print\s+["'\w]/,
];
const SQL =
  /^\s*(?:select\s[\s\S]{1,200}?\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+(?:table|view|index)\s|with\s+\w+\s+as\s*\()/i;
const MARKUP = /^\s*<(?:!doctype\b|\?xml\b|[a-z][\w-]*(?:\s[^<>]{0,200})?\/?>|\/)/i;
const STARTS_LIKE_JSON = /^\{\s*"[^"\\\n]{0,100}"\s*:/;
const PROSE = /^\s*[\p{L}][\p{L}'\u2019]*(?:[ ,]+[\p{L}][\p{L}'\u2019-]*){2,}\s*[.,:!?\u2026]?(?:\s|$)/u;
const KEYWORD =
  /^\s*(?:abstract|async|await|case|class|declare|delete|do|enum|export|for|get|if|import|interface|new|return|set|static|switch|throw|try|type|typeof|void|while|yield)\b/;

/**
 * What a text is that does not parse, if it is plainly something other than JavaScript.
 *
 * @param {string} text
 * @param {number} offset where parsing stopped
 * @returns {string | undefined} what to tell whoever sent it
 */
export function notJavaScript(text, offset) {
  if (parsesAsJson(text)) return JSON_IS_NO_PROGRAM;
  const start = text.slice(0, 400).trimStart();
  const [before, line] = lines(text, offset);
  const first = before.trim() === "" || text.slice(0, offset).trim() === "";
  if (isPython(line) || isPython(before)) return otherLanguage("Python");
  if (isCommand(line)) return otherLanguage("a shell command");
  if (isComment(line)) return commented(text);
  if (SQL.test(start) && first) return otherLanguage("SQL");
  if (MARKUP.test(start) && !start.startsWith("<!--") && first) return otherLanguage("markup");
  if (first && STARTS_LIKE_JSON.test(start)) return JSON_IS_BROKEN;
  if (first && PROSE.test(line) && !KEYWORD.test(line) && !isScript(line)) return PROSE_FIRST;
  return undefined;
}

/** Whether a line starts as shell commands do. */
export function isCommand(line) {
  const words = line.trim();
  return (COMMAND.test(words) && !NOT_COMMAND.test(words)) || COMMAND_WITH_ARGUMENT.test(words);
}

function isPython(line) {
  return PYTHON.some((pattern) => pattern.test(line)) && !isScript(line);
}

// Signs of JavaScript that none of the others has.
function isScript(line) {
  return /=>|\b(?:const|let|var|function)\s|[{;]\s*$|^\s*(?:\/\/|\/\*|\})|===/.test(line);
}

function isComment(line) {
  return /^\s*#(?:[\s#]|$)/.test(line);
}

// `#` starts a comment in Python and in shells: what stands below tells which.
function commented(text) {
  let looked = 0;
  for (const { 0: line } of text.matchAll(/[^\n\r]{1,300}/g)) {
    if (isPython(line) || /^print\(/.test(line)) return otherLanguage("Python");
    if (isCommand(line)) return otherLanguage("a shell script");
    looked += 1;
    if (looked === 50) break;
  }
  return "`#` starts no comment in JavaScript: write `//`";
}

// The line of an offset, and the last line before it that is not blank. A line may be as long as
// the text: what is looked at is not.
function lines(text, offset) {
  const from = Math.max(0, offset - 1000);
  const head = text.slice(from, offset).split(/[\n\r\u2028\u2029]/);
  const [tail] = text.slice(offset, offset + 300).split(/[\n\r\u2028\u2029]/, 1);
  const line = head.pop().slice(-300) + tail;
  const before = head.findLast((other) => other.trim() !== "") ?? "";
  return [before.slice(-300), line];
}
