// The fires of the jobs for every second. The durable one is green while it has no double and no hole.

import { ageOf, figure, since } from "./counter.js";
import { announce, attribute, byId, text } from "./dom.js";
import { plural, time } from "./format.js";

/** How old the last fire may be while a node leads. */
const DUE = 3000;

const VERDICT = {
  waiting: "Not counted yet",
  broken: "\u26a0 A second ran twice or not at all. Please report it, unless no node led for an hour."
};

let broken = false;

export function show({ rows }) {
  const { durable, plain } = rows;
  fires("durable", durable);
  fires("plain", plain);
  const state = stateOf(rows);
  attribute(byId("fires"), "data-state", state);
  text(byId("fires-verdict"), VERDICT[state] ?? verdict(state, rows));
  if (!broken && state === "broken") {
    announce(VERDICT.broken);
  }
  broken = state === "broken";
}

function stateOf(rows) {
  const { durable, at } = rows;
  if (durable.doubles + durable.holes > 0) {
    return "broken";
  }
  const age = (durable.last > 0) ? ageOf(rows) : "waiting";
  return (age === "clean" && at - durable.last > DUE) ? "due" : age;
}

function verdict(state, rows) {
  const { durable, at } = rows;
  switch (state) {
    case "due":
      return plural(Math.floor((at - durable.last) / 1000), "second") + " due: the next leader catches up.";
    case "clean":
      return "\u2713 Each second once since " + time(durable.first) + ".";
    default:
      return since(rows);
  }
}

function fires(job, { count, doubles, holes, last }) {
  figure(job + "-count", count, last > 0);
  figure(job + "-doubles", doubles, last > 0);
  figure(job + "-holes", holes, last > 0);
}
