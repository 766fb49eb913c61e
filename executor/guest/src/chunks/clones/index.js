// Reads what connectors and the functions of `this.env` answer, and `this.env` itself where it is no JSON: values as structured
// clone carries them. The worker asks for this chunk where a run has any.
//
// The format is the one of results, and its reader is the Node bridge's.
import { decodeResult } from "../../../../../node_bridge/src/values/result.ts";

export default function install() {
  return {
    // `text`: the digit of a form and what it measures. `handle` makes what stands for a function, from its number.
    decode: (text, handle) => decodeResult(+text[0], text.length > 1 ? text.slice(1) : undefined, handle),
  };
}
