// The counter that must not lie.

import { announce, byId, text } from "./dom.js";
import { count, plural } from "./format.js";

let clean = true;

export function show({ rows }) {
  if (!rows) {
    return;
  }
  text(byId("rows-count"), count(rows.count));
  text(byId("rows-duplicates"), count(rows.duplicates));
  text(byId("rows-outdated"), count(rows.outdated));
  mark("rows-duplicates", rows.duplicates);
  mark("rows-outdated", rows.outdated);
  const bad = rows.duplicates + rows.outdated;
  byId("counter").dataset.state = bad > 0 ? "broken" : "clean";
  text(byId("verdict"), bad > 0
      ? "\u26a0 This must never be: " + plural(bad, "row") + " too many. Please report it."
      : "\u2713 As promised. Counted in the database, over all nodes.");
  if (clean !== (bad === 0)) {
    clean = bad === 0;
    announce(byId("verdict").textContent);
  }
}

function mark(id, number) {
  byId(id).parentElement.dataset.bad = number > 0;
}
