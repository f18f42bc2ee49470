// The lease of a leader, for as long as the node itself trusts it.

import { now } from "./clock.js";
import { attribute, calm, element, text } from "./dom.js";
import { duration, span } from "./format.js";
import { latestOf } from "./seams.js";
import { waiting } from "./store.js";

/** How old a report may be before the page calls it old. One late answer is tolerated. */
const FRESH = 1500;

export function createLease(id) {
  const own = {
    words: element("p", { "data-testid": "lease-text", "class": "lease-text", id: id + "-lease" }),
    meter: element("div", { "data-testid": "lease", "class": "lease", role: "meter",
      "aria-label": "Lease remaining, in seconds", "aria-describedby": id + "-lease", "aria-valuemin": "0" }),
    bar: element("div", { "class": "lease-bar" })
  };
  own.meter.append(own.bar);
  own.shown = element("div", { "class": "lease-row" }, own.words, own.meter);
  return own;
}

export function showLease(own, node, state) {
  const remaining = remainingOf(node);
  const share = Math.min(1, Math.max(0, remaining) / state.trust);
  text(own.words, wordsOf(node, remaining, state));
  attribute(own.meter, "aria-valuemax", state.trust / 1000);
  attribute(own.meter, "aria-valuenow", (Math.max(0, remaining) / 1000).toFixed(1));
  own.bar.style.transform = "scaleX(" + (calm.matches ? Math.round(share * 20) / 20 : share.toFixed(4)) + ")";
}

export function roleOf(node) {
  return (node.process === "dead" || node.process === "starting") ? null : node.leadership?.role ?? null;
}

/** Whether only an old report of a node is available. */
export function isOld(node) {
  return node.process !== "dead" && Boolean(node.leadership)
      && (node.process === "frozen" || now() - node.seenAt > FRESH);
}

/** The terms. The last one ends with the lease of the last report if its node is silent. */
export function asReported(terms, nodes) {
  const last = latestOf(terms);
  const node = nodes.find((one) => one.name === last?.node);
  if (last?.to !== null || !node || !isOld(node)) {
    return terms;
  }
  const to = node.seenAt + duration(node.leadership.leaseRemaining);
  return terms.map((term) => (term === last ? { ...term, to, provisional: true } : term));
}

/** Whether a node reports that it leads, or that it is about to hand over. */
export const leads = (node) => ["leader", "resigning"].includes(roleOf(node));

/**
 * The remaining lease, negative once it has expired. It expires by the clock, also for a frozen process. For a node
 * that answers it never reaches zero between two reports: with a short lease it has been confirmed in between.
 */
function remainingOf(node) {
  if (!leads(node)) {
    return 0;
  }
  const reported = duration(node.leadership.leaseRemaining);
  const left = reported - Math.max(0, now() - node.seenAt);
  return isOld(node) ? left : Math.max(left, reported / 2);
}

function wordsOf(node, remaining, state) {
  if (node.process === "dead") {
    return "No lease: it ended with the process";
  }
  if (!leads(node)) {
    return "No lease: it does not lead";
  }
  if (remaining > 0) {
    return "Lease: " + span(remaining) + " remaining" + (isOld(node) ? ", by the clock" : "");
  }
  return "Lease expired on the node; " + (latestOf(state.terms)?.node === node.name
      ? waiting(state) + " for the rest of it" : "another node leads");
}
