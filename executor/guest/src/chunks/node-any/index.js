// Nothing of its own: a program that asks for modules by a function needs them all.
export default function install() {}
