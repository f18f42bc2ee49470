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
  const state = (rows.duplicates + rows.outdated > 0) ? "broken" : ageOf(rows);
  attribute(byId("counter"), "data-state", state);
  text(byId("verdict"), VERDICT[state] ?? since(rows));
  if (!broken && state === "broken") {
    announce(VERDICT.broken);
  }
  broken = state === "broken";
}

/** Whether there is a recent count. */
export function ageOf(rows) {
  if (!(rows.at > 0)) {
    return "waiting";
  }
  return (now() > rows.next + LATE) ? "stale" : "clean";
}

export const since = (rows) => "Not counted since " + time(rows.at);

export function figure(id, number, counted) {
  text(byId(id), counted ? count(number) : "\u2013");
  const must = byId(id).closest(".must");
  if (must) {
    attribute(must, "data-bad", number > 0);
  }
}
