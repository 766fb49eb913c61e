// What the package finds instead of Node: set before the first of its modules is evaluated.
export let realm

export const setRealm = (given) => { realm = given }
