// The timeline in words and figures.

import { byId, element, reconcile, text } from "./dom.js";
import { millis, time } from "./format.js";
import { lengthOf } from "./seams.js";

const SHOWN = 60_000;

export function show(history, seams, now) {
  const from = now - SHOWN;
  const terms = history.terms.filter((term) => (term.to ?? now) >= from && term.from <= now).reverse();
  text(byId("table-span"), "From " + time(from) + " to " + time(now) + ". Earlier runs are not counted.");
  rows("terms", terms, (term) => term.term, (term) => [
    term.term,
    term.node,
    time(term.from, 3),
    endOf(term),
    before(seams.find((seam) => seam.before === term.term), now),
    String([...history.ticks.values()].filter((tick) => tick.kind === "leader" && tick.term === term.term
        && tick.at >= from && tick.at <= now).length)
  ]);
  rows("tick-counts", history.nodes, (node) => node, (node) => {
    const { leader, all } = history.count(node, from, now);
    return [node, String(leader), String(all)];
  });
}

function endOf({ to, provisional, reason }) {
  if (to === null) {
    return "leads";
  }
  return time(to, 3) + (provisional ? " (by its last report)"
      : reason ? " (" + reason.toLowerCase().replaceAll("_", " ") + ")" : "");
}

function before(seam, now) {
  if (!seam) {
    return "\u2013";
  }
  const length = millis(lengthOf(seam, now));
  return {
    gap: (seam.provisional ? "at most " : "") + length,
    overlap: "\u26a0 two led at once, for " + length,
    unknown: "not known"
  }[seam.kind];
}

function rows(id, items, key, cells) {
  reconcile(byId(id), items, key, () => element("tr"), (row, item) => {
    const values = cells(item);
    while (row.children.length < values.length) {
      row.append(row.children.length === 0 ? element("th", { scope: "row" }) : element("td"));
    }
    values.forEach((value, index) => text(row.children[index], value));
  });
}
