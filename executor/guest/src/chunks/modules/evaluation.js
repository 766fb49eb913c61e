// The order in which modules are evaluated: the language's own algorithm, with its names, because every shorter one is
// wrong for modules that wait and import each other.

const LINKED = 0
const EVALUATING = 1
const EVALUATING_ASYNC = 2
const EVALUATED = 3

/** What a record has for the evaluation of its own. */
export const evaluationState = () => ({
  __proto__: null,
  status: LINKED,
  hasThrown: false,
  error: undefined,
  index: 0,
  ancestor: 0,
  root: undefined, // of its cycle
  order: 0, // of those that wait, or wait for one that does; 0: none
  pending: 0, // of those that it waits for
  parents: [], // that wait for it
  settle: undefined,
  reject: undefined,
  promise: undefined,
})

export const isEvaluating = (state) => state.status === EVALUATING

/**
 * @param {object} hooks
 * @param {(record: any) => void} hooks.run runs a module that does not wait
 * @param {(record: any) => Promise<void>} hooks.runAsync runs one that does, from before it answers
 * @param {any} hooks.PromiseCtor
 */
export const createEvaluation = ({ run, runAsync, PromiseCtor }) => {
  let asyncCount = 0

  const evaluate = (record) => {
    if (record.eval.status >= EVALUATING_ASYNC && record.eval.root !== undefined) record = record.eval.root
    const state = record.eval
    if (state.promise !== undefined) return state.promise
    state.promise = new PromiseCtor((resolve, reject) => {
      state.settle = resolve
      state.reject = reject
    })
    const stack = []
    try {
      visit(record, stack, 0)
    } catch (error) {
      for (let i = 0; i < stack.length; i++) markFailed(stack[i].eval, error)
      markFailed(state, error)
      state.reject(error)
      return state.promise
    }
    if (state.order === 0 || state.status === EVALUATED) state.settle(undefined)
    return state.promise
  }

  const markFailed = (state, error) => {
    state.status = EVALUATED
    state.hasThrown = true
    state.error = error
  }

  const visit = (record, stack, count) => {
    const state = record.eval
    if (state.status >= EVALUATING_ASYNC) {
      if (state.hasThrown) throw state.error
      return count
    }
    if (state.status === EVALUATING) return count
    state.status = EVALUATING
    state.index = state.ancestor = count++
    state.pending = 0
    stack[stack.length] = record
    const { requested } = record
    for (let i = 0; i < requested.length; i++) {
      let required = requested[i]
      count = visit(required, stack, count)
      if (required.eval.status === EVALUATING) {
        if (required.eval.ancestor < state.ancestor) state.ancestor = required.eval.ancestor
      } else {
        required = required.eval.root ?? required
        if (required.eval.hasThrown) throw required.eval.error
      }
      if (required.eval.order > 0 && required.eval.status !== EVALUATED) {
        state.pending++
        required.eval.parents[required.eval.parents.length] = record
      }
    }
    if (state.pending > 0 || record.waits) {
      state.order = ++asyncCount
      if (state.pending === 0) startAsync(record)
    } else {
      run(record)
    }
    if (state.ancestor === state.index) {
      for (;;) {
        const member = stack[stack.length - 1]
        stack.length--
        member.eval.status = member.eval.order > 0 ? EVALUATING_ASYNC : EVALUATED
        member.eval.root = record
        if (member === record) break
      }
    }
    return count
  }

  const startAsync = async (record) => {
    try {
      await runAsync(record)
    } catch (error) {
      return rejected(record, error)
    }
    fulfilled(record)
  }

  const rejected = (record, error) => {
    const state = record.eval
    if (state.status === EVALUATED) return
    markFailed(state, error)
    for (let i = 0; i < state.parents.length; i++) rejected(state.parents[i], error)
    state.reject?.(error)
  }

  const finish = (state) => {
    state.status = EVALUATED
    state.settle?.(undefined)
  }

  const fulfilled = (record) => {
    const state = record.eval
    if (state.status === EVALUATED) return
    finish(state)
    const ready = []
    gather(record, ready)
    for (;;) {
      const next = takeFirst(ready)
      if (next === undefined) return
      const nextState = next.eval
      if (nextState.status === EVALUATED) continue
      if (next.waits) {
        startAsync(next)
        continue
      }
      try {
        run(next)
      } catch (error) {
        rejected(next, error)
        continue
      }
      finish(nextState)
    }
  }

  // Those that waited for nothing else, and through those that do not wait themselves, theirs.
  const gather = (record, ready) => {
    const { parents } = record.eval
    for (let i = 0; i < parents.length; i++) {
      const parent = parents[i]
      if (parent.eval.status === EVALUATED || (parent.eval.root ?? parent).eval.hasThrown) continue
      if (--parent.eval.pending > 0) continue
      ready[ready.length] = parent
      if (!parent.waits) gather(parent, ready)
    }
  }

  const takeFirst = (ready) => {
    let first
    let at = -1
    for (let i = 0; i < ready.length; i++) {
      if (ready[i] !== undefined && (first === undefined || ready[i].eval.order < first.eval.order)) {
        first = ready[i]
        at = i
      }
    }
    if (at >= 0) ready[at] = undefined
    return first
  }

  return { __proto__: null, evaluate }
}
