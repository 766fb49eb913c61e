// Asked for only where the platform has none of its own, which is nowhere.
export const { AbortController, AbortSignal } = globalThis
