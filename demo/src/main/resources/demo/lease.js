// How long a leader trusts itself: its lease, as far as it relies on it.

import { now } from "./clock.js";
import { attribute, calm, element, text } from "./dom.js";
import { duration, span } from "./format.js";
import { latestOf } from "./seams.js";

/** How old what a node said may be before the page calls it old: one answer that comes late does not make it so. */
const FRESH = 1500;

export function createLease(id) {
  const own = {
    words: element("p", { "data-testid": "lease-text", "class": "lease-text", id: id + "-lease" }),
    meter: element("div", { "data-testid": "lease", "class": "lease", role: "meter",
      "aria-label": "Trusts itself for, in seconds", "aria-describedby": id + "-lease", "aria-valuemin": "0" }),
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

/** Whether what a node said last is all there is to know. */
export function isOld(node) {
  return node.process !== "dead" && Boolean(node.leadership)
      && (node.process === "frozen" || now() - node.seenAt > FRESH);
}

/** The terms, of which the last one is not open if its node is silent: it trusts itself for as long as it said last. */
export function asHeard(terms, nodes) {
  const last = latestOf(terms);
  const node = nodes.find((one) => one.name === last?.node);
  if (last?.to !== null || !node || !isOld(node)) {
    return terms;
  }
  const to = node.seenAt + duration(node.leadership.leaseRemaining);
  return terms.map((term) => (term === last ? { ...term, to, provisional: true } : term));
}

/** Whether it says that it leads, or that it is about to hand over. */
export const leads = (node) => ["leader", "resigning"].includes(roleOf(node));

/**
 * What is left by now, less than nothing if it is over: it runs out by the clock, whether the process can look at it
 * or not. Of a node that answers it is not over before it says so: with a short lease it has been confirmed again.
 */
function remainingOf(node) {
  if (!leads(node)) {
    return 0;
  }
  const said = duration(node.leadership.leaseRemaining);
  const left = said - Math.max(0, now() - node.seenAt);
  return isOld(node) ? left : Math.max(left, said / 2);
}

function wordsOf(node, remaining, { terms }) {
  if (node.process === "dead") {
    return "No lease: it ended with the process";
  }
  if (!leads(node)) {
    return "No lease: it does not lead";
  }
  if (remaining > 0) {
    return "Trusts itself for " + span(remaining) + " more" + (isOld(node) ? ", by the clock" : "");
  }
  return "Has stopped trusting itself; " + (latestOf(terms)?.node === node.name
      ? "the database waits for the rest of the lease" : "another node leads");
}
