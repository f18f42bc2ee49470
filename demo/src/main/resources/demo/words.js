// The description of a fault: what was done, and its outcome.

import { millis, plural } from "./format.js";

const DONE = {
  kill: "kill -9 of",
  freeze: "Freeze of",
  thaw: "Thaw of",
  cut: "Cut off",
  reconnect: "Reconnect",
  resign: "Resign by",
  start: "Start of",
  end: "External end of"
};

export const title = (fault) => DONE[fault.action] + " " + fault.node;

export const isKnown = (figure) => Number.isFinite(figure);

export const isOvertaken = (fault) => isKnown(fault.overtakenBy);

export const isLate = ({ boundMillis, outcome }) => isKnown(boundMillis) && outcome.millis > boundMillis;

/** What the time of an outcome means, where it is not the time until another node led. */
function recovery({ action, outcome }) {
  switch (action) {
    case "thaw":
      return outcome.noticed ? " noticed that it no longer leads after "
        : " reached the database again within ";
    case "reconnect":
      return " reached the database again within ";
    case "start":
      return " reached the database within ";
    default:
      return null;
  }
}

/** The outcome of a fault: which node, what it did, after how long, and any further remark. */
export function result(fault) {
  const { outcome, node } = fault;
  if (isKnown(outcome.millis)) {
    const recovered = recovery(fault);
    const late = isLate(fault) ? ", longer than expected" : "";
    return recovered ? { who: node, what: recovered, millis: outcome.millis, rest: late + ". " + leads(fault) }
        : { who: outcome.leader, what: " leads after ", millis: outcome.millis, rest: late };
  }
  if (!outcome.leader) {
    return { rest: "No node leads." };
  }
  if (!outcome.sameTerm) {
    return { rest: "It did not lead: the change of leader has another cause." };
  }
  return { rest: outcome.leader + (outcome.leader === node ? " still leads." : " leads as before.") };
}

/** Who leads once a node is back. That no node leads for a moment is not reported. */
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
    isKnown(missed) && { name: "missed", label: "Missed runs", known: true, value: String(missed),
      bad: false }
  ].filter(Boolean);
}

// Between a figure and its unit no line may break
export const expected = (fault) => "Expected: " + fault.expect.replace(/(\d) (m?s)\b/g, "$1\u00a0$2");

/** The whole fault in a few sentences. */
export function describe(fault) {
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

export const overtaken = (fault) => "Superseded by " + fault.overtakenBy
    + ": its own outcome cannot be determined.";
