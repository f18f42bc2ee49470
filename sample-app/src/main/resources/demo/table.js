// The timeline in words and figures.

import { byId, element, reconcile, text } from "./dom.js";
import { millis, time } from "./format.js";

const SHOWN = 60_000;

export function ticksSince(history, node, from) {
  const counts = { leader: 0, all: 0 };
  for (const tick of history.ticks.values()) {
    if (tick.node === node && tick.at >= from) {
      counts[tick.kind === "leader" ? "leader" : "all"]++;
    }
  }
  return counts;
}

export function show(history, now) {
  const from = now - SHOWN;
  const terms = history.terms.map((term, index) => [term, history.terms[index - 1]])
    .filter(([term]) => (term.to ?? now) >= from)
    .reverse();
  rows("terms", terms, ([{ term, node }]) => term + node, ([term, before]) => [
    term.term,
    term.node,
    time(term.from, 3),
    term.to === null ? "leads" : time(term.to, 3) + (term.reason ? " (" + term.reason.toLowerCase().replaceAll("_", " ") + ")" : ""),
    gap(term, before),
    String([...history.ticks.values()].filter((tick) => tick.kind === "leader" && tick.term === term.term
        && tick.at >= from).length)
  ]);
  rows("tick-counts", history.nodes, (node) => node, (node) => {
    const { leader, all } = ticksSince(history, node, from);
    return [node, String(leader), String(all)];
  });
}

function gap(term, before) {
  if (!before) {
    return "\u2013";
  }
  if (before.to === null || before.to > term.from) {
    return "two led at once";
  }
  return (before.provisional ? "at most " : "") + millis(term.from - before.to);
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
