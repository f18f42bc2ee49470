// The counter of rows. It is green only for a recent count.

import { now } from "./clock.js";
import { announce, attribute, byId, text } from "./dom.js";
import { count, time } from "./format.js";

/** How much later than announced the demo may count. */
const LATE = 5000;

const VERDICT = {
  waiting: "Not counted yet",
  clean: "\u2713 None twice, none by a former leader. Counted in the database.",
  broken: "\u26a0 This must never happen. Check both figures and please report it."
};

let broken = false;

export function show({ rows }) {
  const counted = rows.at > 0;
  figure("rows-count", rows.count, counted);
  figure("rows-duplicates", rows.duplicates, counted);
  figure("rows-outdated", rows.outdated, counted);
  const state = stateOf(rows);
  attribute(byId("counter"), "data-state", state);
  text(byId("verdict"), VERDICT[state] ?? "Not counted since " + time(rows.at));
  if (!broken && state === "broken") {
    announce(VERDICT.broken);
  }
  broken = state === "broken";
}

function stateOf(rows) {
  if (rows.duplicates + rows.outdated > 0) {
    return "broken";
  }
  if (!(rows.at > 0)) {
    return "waiting";
  }
  return (now() > rows.next + LATE) ? "stale" : "clean";
}

function figure(id, number, counted) {
  text(byId(id), counted ? count(number) : "\u2013");
  attribute(byId(id).parentElement, "data-bad", number > 0);
}
