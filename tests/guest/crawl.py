"""A program's search for what it must not reach."""

from __future__ import annotations

import json
from collections.abc import Sequence

_MACHINERY = ("hostCall", "findModule", "lazyModule", "primordials", "setTimer", "randomFill")

_CRAWL = """
const crawl = (roots) => {
  const seen = new Set(); const found = []; const queue = roots.map((root, i) => [String(i), root]);
  const ours = NAMES;
  while (queue.length > 0 && seen.size < 20000) {
    const [where, value] = queue.pop();
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const key of Reflect.ownKeys(value)) {
      if (ours.includes(key)) found.push(where + '.' + String(key));
      let next;
      try { next = value[key] } catch { continue }
      queue.push([where + '.' + String(key), next]);
      const { get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      queue.push([where + '<get ' + String(key), get], [where + '<set ' + String(key), set]);
    }
    queue.push([where + '.__proto__', Object.getPrototypeOf(value)]);
  }
  return found;
};
"""


def crawl(*more: str) -> str:
    """Defines ``crawl(roots)``.

    It follows every property, prototype, getter and setter from ``roots``, and answers where it found a name of the
    machinery.

    Args:
        more: names to look for beside those that all of it has.
    """
    names: Sequence[str] = (*_MACHINERY, *more)
    return _CRAWL.replace("NAMES", json.dumps(names))
