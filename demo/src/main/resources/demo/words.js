// What is said of a fault: what was done, and what came of it.

import { millis, plural } from "./format.js";

const DONE = {
  kill: "kill -9 of",
  freeze: "Freeze of",
  thaw: "Thaw of",
  cut: "Cut off",
  reconnect: "Reconnect",
  resign: "Resign by",
  start: "Start of",
  end: "End from elsewhere of"
};

export const title = (fault) => DONE[fault.action] + " " + fault.node;

export const isKnown = (figure) => Number.isFinite(figure);

export const isOvertaken = (fault) => isKnown(fault.overtakenBy);

export const isLate = ({ boundMillis, outcome }) => isKnown(boundMillis) && outcome.millis > boundMillis;

/** What the time of an outcome means, where it is not how long it took until another node led. */
function recovery({ action, outcome }) {
  switch (action) {
    case "thaw":
      return outcome.noticed ? " found out that it leads no more after "
        : " was in touch with the database again within ";
    case "reconnect":
      return " was in touch with the database again within ";
    case "start":
      return " was in touch with the database within ";
    default:
      return null;
  }
}

/** What came of a fault: who, did what, after how long, and what else there is to say. */
export function result(fault) {
  const { outcome, node } = fault;
  if (isKnown(outcome.millis)) {
    const recovered = recovery(fault);
    const late = isLate(fault) ? ", longer than expected" : "";
    return recovered ? { who: node, what: recovered, millis: outcome.millis, rest: late + ". " + leads(fault) }
        : { who: outcome.leader, what: " leads after ", millis: outcome.millis, rest: late };
  }
  if (!outcome.leader) {
    return { rest: "Nobody leads." };
  }
  if (!outcome.sameTerm) {
    return { rest: "It did not lead: this changed nothing by itself." };
  }
  return { rest: outcome.leader + (outcome.leader === node ? " still leads." : " leads as before.") };
}

/** Who leads once a node is back. Nobody, for a moment, is no news. */
function leads({ outcome, node }) {
  if (!outcome.leader) {
    return "";
  }
  return outcome.leader + ((outcome.leader === node && outcome.noticed) ? " leads again, in a new term." : " leads.");
}

/** What was measured, and what will be. */
export function figures(fault) {
  const { overlapMillis: overlap, missedTicks: missed, complete } = fault.outcome;
  const open = !complete && !isOvertaken(fault);
  const later = (fault.action === "freeze") ? "known when thawed" : "not known yet";
  return [
    (isKnown(overlap) || open) && { name: "overlap", label: "Two leaders at once", known: isKnown(overlap),
      value: isKnown(overlap) ? millis(overlap) : later, bad: overlap > 0 },
    isKnown(missed) && { name: "missed", label: "Runs that were missed", known: true, value: String(missed),
      bad: false }
  ].filter(Boolean);
}

// Between a figure and its unit no line may break
export const expected = (fault) => "Expected: " + fault.expect.replace(/(\d) (m?s)\b/g, "$1\u00a0$2");

/** All of it in a few sentences. */
export function told(fault) {
  const { outcome } = fault;
  if (!outcome) {
    return title(fault) + ". " + (isOvertaken(fault) ? overtaken(fault) : expected(fault) + ".");
  }
  const { who, what, millis: took, rest } = result(fault);
  const happened = isKnown(took) ? who + what + millis(took) + rest : rest;
  return [title(fault) + ": " + happened + (happened.endsWith(".") ? "" : "."),
    isKnown(outcome.overlapMillis) && "Two leaders at once: " + millis(outcome.overlapMillis) + ".",
    isKnown(outcome.missedTicks) && plural(outcome.missedTicks, "run") + " missed."].filter(Boolean).join(" ");
}

export const overtaken = (fault) => "Overtaken by " + fault.overtakenBy
    + ": what would have come of it cannot be known.";
