// Which identifiers of a tree are free: they refer to something outside of it, or to what its
// outermost scope imports. Scopes are those of strict code.

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/**
 * @typedef {object} Reference
 * @property {any} node the Identifier, or the Property that is short for it
 * @property {string} name
 * @property {"read" | "call" | "short" | "typeof"} use
 */

/**
 * The free references of a tree to some names, in no particular order.
 *
 * @param {any} tree acorn's Program
 * @param {ReadonlySet<string>} interest the names that are looked for
 * @param {{ outermost: boolean }} options whether what the outermost scope declares hides a name
 * @returns {Reference[]}
 */
export function freeReferences(tree, interest, { outermost }) {
  return new Finder(interest).find(tree, outermost);
}

class Finder {
  constructor(interest) {
    this.interest = interest;
    /** @type {Reference[]} */
    this.found = [];
  }

  find(tree, outermost) {
    const hidden = new Set();
    if (outermost) {
      this.#lexical(tree.body, hidden);
      this.#vars(tree.body, hidden);
    }
    this.#each(tree.body, hidden);
    return this.found;
  }

  #each(nodes, hidden) {
    for (const node of nodes) if (node !== null) this.#visit(node, hidden, "read");
  }

  #visit(node, hidden, use) {
    switch (node.type) {
      case "Identifier":
        if (this.interest.has(node.name) && !hidden.has(node.name)) this.found.push({ node, name: node.name, use });
        return;
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return this.#function(node, hidden);
      case "ClassDeclaration":
      case "ClassExpression":
        return this.#class(node, hidden);
      case "BlockStatement":
        return this.#each(node.body, this.#with(hidden, (names) => this.#lexical(node.body, names)));
      case "StaticBlock":
        return this.#each(
          node.body,
          this.#with(hidden, (names) => {
            names.add("arguments");
            this.#lexical(node.body, names);
            this.#vars(node.body, names);
          }),
        );
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        const head = node.init ?? node.left;
        const isLexical = head?.type === "VariableDeclaration" && head.kind !== "var";
        return this.#children(node, isLexical ? this.#with(hidden, (names) => this.#declarations(head, names)) : hidden);
      }
      case "SwitchStatement": {
        this.#visit(node.discriminant, hidden, "read");
        const statements = node.cases.flatMap(({ consequent }) => consequent);
        return this.#each(node.cases, this.#with(hidden, (names) => this.#lexical(statements, names)));
      }
      case "CatchClause":
        return this.#children(node, this.#with(hidden, (names) => node.param && this.#pattern(node.param, names)));
      case "MemberExpression":
        this.#visit(node.object, hidden, "read");
        if (node.computed) this.#visit(node.property, hidden, "read");
        return;
      case "Property":
        return this.#property(node, hidden);
      case "MethodDefinition":
      case "PropertyDefinition":
        if (node.computed) this.#visit(node.key, hidden, "read");
        if (node.value === null) return;
        return this.#visit(
          node.value,
          node.type === "PropertyDefinition" ? this.#with(hidden, (names) => names.add("arguments")) : hidden,
          "read",
        );
      case "CallExpression":
        this.#visit(node.callee, hidden, "call");
        return this.#each(node.arguments, hidden);
      case "TaggedTemplateExpression":
        this.#visit(node.tag, hidden, "call");
        return this.#visit(node.quasi, hidden, "read");
      case "UnaryExpression":
        return this.#visit(node.argument, hidden, node.operator === "typeof" ? "typeof" : "read");
      case "LabeledStatement":
        return this.#visit(node.body, hidden, "read");
      case "BreakStatement":
      case "ContinueStatement":
      case "MetaProperty":
      case "ImportDeclaration":
      case "ExportAllDeclaration":
        return;
      case "ExportNamedDeclaration":
        if (node.declaration !== null) this.#visit(node.declaration, hidden, "read");
        return;
      default:
        return this.#children(node, hidden);
    }
  }

  #children(node, hidden) {
    for (const key in node) {
      const value = node[key];
      if (value === null || typeof value !== "object") continue;
      if (Array.isArray(value)) {
        for (const child of value) if (isNode(child)) this.#visit(child, hidden, "read");
      } else if (isNode(value)) {
        this.#visit(value, hidden, "read");
      }
    }
  }

  #property(node, hidden) {
    if (!node.shorthand) {
      if (node.computed) this.#visit(node.key, hidden, "read");
      return this.#visit(node.value, hidden, "read");
    }
    const { name } = node.key;
    if (this.interest.has(name) && !hidden.has(name)) this.found.push({ node, name, use: "short" });
    if (node.value.type === "AssignmentPattern") this.#visit(node.value.right, hidden, "read");
  }

  #function(node, hidden) {
    const outer = this.#with(hidden, (names) => {
      if (node.type !== "ArrowFunctionExpression") names.add("arguments");
      if (node.type === "FunctionExpression" && node.id !== null) names.add(node.id.name);
      for (const parameter of node.params) this.#pattern(parameter, names);
    });
    this.#each(node.params, outer);
    if (node.body.type !== "BlockStatement") return this.#visit(node.body, outer, "read");
    const inner = this.#with(outer, (names) => {
      this.#lexical(node.body.body, names);
      this.#vars(node.body.body, names);
    });
    this.#each(node.body.body, inner);
  }

  #class(node, hidden) {
    const inner = this.#with(hidden, (names) => node.id && names.add(node.id.name));
    if (node.superClass !== null) this.#visit(node.superClass, inner, "read");
    this.#each(node.body.body, inner);
  }

  // The names that a scope hides: those of the outer one, and what `declare` adds.
  #with(hidden, declare) {
    const names = new Set();
    declare(names);
    let own;
    for (const name of names) {
      if (this.interest.has(name) && !hidden.has(name)) (own ??= new Set(hidden)).add(name);
    }
    return own ?? hidden;
  }

  #lexical(statements, names) {
    for (const node of statements) {
      const statement = declarationOf(node);
      if (statement.type === "VariableDeclaration") {
        if (statement.kind !== "var") this.#declarations(statement, names);
      } else if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") {
        if (statement.id !== null) names.add(statement.id.name);
      }
    }
  }

  #vars(nodes, names) {
    const pending = [...nodes];
    while (pending.length > 0) {
      const node = pending.pop();
      if (!isNode(node) || FUNCTIONS.has(node.type) || node.type === "StaticBlock") continue;
      if (node.type === "VariableDeclaration" && node.kind === "var") this.#declarations(node, names);
      // Statements only are looked into: an expression declares no variable of its function.
      for (const key of STATEMENT_KEYS) {
        const value = node[key];
        if (Array.isArray(value)) pending.push(...value);
        else if (value !== null && value !== undefined) pending.push(value);
      }
    }
  }

  #declarations(declaration, names) {
    for (const { id } of declaration.declarations) this.#pattern(id, names);
  }

  #pattern(pattern, names) {
    for (const name of namesOf(pattern)) names.add(name);
  }
}

const STATEMENT_KEYS = [
  "body",
  "consequent",
  "alternate",
  "block",
  "handler",
  "finalizer",
  "cases",
  "init",
  "left",
  "declaration",
];

function isNode(value) {
  return value !== null && typeof value === "object" && typeof value.type === "string";
}

function declarationOf(statement) {
  const isExport = statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration";
  return isExport && isNode(statement.declaration) ? statement.declaration : statement;
}

/**
 * The names that a pattern binds or assigns to; members are none.
 *
 * @param {any} pattern
 * @returns {string[]}
 */
export function namesOf(pattern) {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((property) => namesOf(property.value ?? property.argument));
    case "ArrayPattern":
      return pattern.elements.flatMap((element) => namesOf(element));
    case "AssignmentPattern":
      return namesOf(pattern.left);
    case "RestElement":
      return namesOf(pattern.argument);
    default:
      return [];
  }
}

/**
 * The names that anything in a tree assigns to after their declaration, in whatever scope.
 *
 * @param {any} tree
 * @returns {Set<string>}
 */
export function assignedNames(tree) {
  const names = new Set();
  for (const node of nodesOf(tree)) {
    const target =
      node.type === "AssignmentExpression" || node.type === "ForOfStatement" || node.type === "ForInStatement"
        ? node.left
        : node.type === "UpdateExpression"
          ? node.argument
          : undefined;
    if (target !== undefined) for (const name of namesOf(target)) names.add(name);
  }
  return names;
}

/**
 * Every node of a tree. Without recursion: a tree may be as deep as the parser allows.
 *
 * @param {any} tree
 * @param {(node: any) => boolean} [enter] whether to go into a node
 * @returns {Generator<any>}
 */
export function* nodesOf(tree, enter = () => true) {
  const pending = [tree];
  while (pending.length > 0) {
    const node = pending.pop();
    yield node;
    if (!enter(node)) continue;
    for (const key in node) {
      const value = node[key];
      if (Array.isArray(value)) {
        for (const child of value) if (isNode(child)) pending.push(child);
      } else if (isNode(value)) {
        pending.push(value);
      }
    }
  }
}

/**
 * Whether a module's own code waits, outside of its functions.
 *
 * @param {any} tree
 * @returns {boolean}
 */
export function waitsAtTop(tree) {
  // A function's parameters and a method's computed key are inside of what is not entered; only
  // the key belongs to the module's own code.
  for (const node of nodesOf(tree, ({ type }) => !FUNCTIONS.has(type))) {
    if (node.type === "AwaitExpression" || node.await === true) return true;
    if (node.type === "VariableDeclaration" && node.kind === "await using") return true;
  }
  return false;
}
