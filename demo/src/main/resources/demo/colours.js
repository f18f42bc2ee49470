// A colour for each node, in the order of their appearance. Its name is beside it wherever it is used.

const COLOURS = 9;
const colours = new Map();

export function colourOf(node) {
  if (!colours.has(node)) {
    colours.set(node, "node-colour-" + (colours.size % COLOURS + 1));
  }
  return colours.get(node);
}
