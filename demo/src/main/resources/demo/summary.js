// The latest fault, how long failovers took, and what is announced to a screen reader.

import { now } from "./clock.js";
import { announce, attribute, byId, reconcile, text } from "./dom.js";
import { millis, seconds } from "./format.js";
import { isTable } from "./store.js";
import { isKnown, isOvertaken, describe } from "./words.js";

const SHORT = { kill: "kill -9", freeze: "freeze", cut: "cut off", resign: "resign", end: "ended externally" };

/** How long an outcome may wait for its figures before it is announced without them. */
const GRACE = 3000;

let announced = null;

export function show(state) {
  const { faults } = state;
  showLatest(faults[0], state);
  showTimes(faults);
  announceChanges(faults);
}

function showLatest(fault, state) {
  if (!fault) {
    text(byId("latest"), "Kill the leader. Another node should lead within "
        + (isTable(state) ? seconds(state.silence) : "less than a second") + ", and all green figures should remain zero.");
  }
  else {
    text(byId("latest"), describe(fault));
    attribute(byId("latest"), "data-outcome", (fault.outcome || isOvertaken(fault)) ? "known" : "waiting");
  }
}

const median = (sorted) => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;

/** Per action that moved leadership: how often, and how long it took. */
function showTimes(faults) {
  const taken = new Map();
  for (const { action, counts, outcome } of faults) {
    if (counts && isKnown(outcome?.millis)) {
      taken.set(action, [...(taken.get(action) ?? []), outcome.millis].sort((a, b) => a - b));
    }
  }
  const times = [...taken].map(([action, values]) => SHORT[action] + " \u00d7 " + values.length + ": "
      + (values.length === 1 ? millis(values[0]) : "median " + millis(median(values)) + ", at most "
      + millis(values.at(-1))));
  if (times.length > 0 && faults[0].id > faults.length) {
    times.push("of the last " + faults.length);
  }
  reconcile(byId("summary"), times, (words) => words, (words) => {
    const item = document.createElement("li");
    item.textContent = words;
    return item;
  }, () => {});
}

/** Announce a fault when it is injected, when its outcome is known, and again if its figures come late. */
function announceChanges(faults) {
  const stages = new Map(faults.map((fault) => [fault.id, stageOf(fault)]));
  if (announced !== null) {
    faults.filter((fault) => stages.get(fault.id) !== (announced.get(fault.id) ?? "none")).reverse().map(describe)
      .forEach(announce);
  }
  announced = stages;
}

/** Whether the outcome of a fault will be announced soon, so that nothing else has to announce it. */
export const isPending = (fault) => stageOf(fault) === "done"
  && now() - fault.at < (fault.boundMillis ?? 10_000) + GRACE;

function stageOf({ id, at, outcome, overtakenBy }) {
  if (isKnown(overtakenBy) && !outcome?.complete) {
    return "overtaken";
  }
  if (outcome?.complete) {
    return "complete";
  }
  const late = outcome && (announced?.get(id) === "late" || now() - (at + (outcome.millis ?? 0)) > GRACE);
  return late ? "late" : "done";
}
