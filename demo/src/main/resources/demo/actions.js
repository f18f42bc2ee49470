// What can be done to a node now, and what is to be expected of it.

import { seconds } from "./format.js";
import { latestOf, leadingTerms } from "./seams.js";

/** Whether a node could lead if nobody else did. */
export const canLead = (node) => node.process === "running" && !node.cut;

/** The node that leads, if one does and no other, and can be asked to do something. */
export function leaderOf(state) {
  const leading = leadingTerms(state.terms);
  const node = (leading.length === 1) ? state.nodes.find((one) => one.name === leading[0].node) : null;
  return (node?.process === "running") ? node : null;
}

/** Whether others wait for a node: it leads, or nobody has led since it was heard last. */
function isWaitedFor(node, state) {
  const last = latestOf(state.terms);
  return last?.node === node.name && (last.to === null || last.provisional) && node.process !== "dead";
}

/** When the next one leads, if this is done to the leader. */
export function nextLeader(action, node, state) {
  const others = state.nodes.filter((other) => other !== node && other.process !== "dead");
  if (!others.some(canLead)) {
    return "nobody else could lead";
  }
  const { lease, takeoverDelay } = state;
  // A node that is frozen or cut off may be first in the queue
  if (others.some((other) => other.process === "frozen" || other.cut)) {
    return "next leader within " + seconds(isToldOf(action, node) ? lease : 2 * lease + takeoverDelay);
  }
  if (isToldOf(action, node)) {
    return (action === "resign") ? "next leader at once" : "next leader in well under 1 s";
  }
  return "next leader within " + seconds(lease + takeoverDelay);
}

/** Whether the database hears of it, rather than only of nothing for a lease. */
const isToldOf = (action, node) => !node.cut && (action === "resign" || action === "kill");

/** What can be done to a node: what it says, and whether it can be done. */
export function actionsOf(node, state) {
  const leads = leaderOf(state) === node;
  const running = node.process === "running";
  const harm = (what, action) => (isWaitedFor(node, state) ? what + ": " + nextLeader(action, node, state) + "."
      : "It does not lead: nothing changes.");
  return [
    { slot: "resign", action: "resign", label: "Resign", enabled: running && leads,
      hint: leads ? harm(node.cut ? "Finishes its work, which the database cannot see"
          : "Finishes its work and hands over", "resign") : "Only the leader can hand over." },
    (node.process === "dead")
      ? { slot: "kill", action: "start", label: "Start", enabled: true, hint: "A new process of this name." }
      : { slot: "kill", action: "kill", label: "kill -9", enabled: true,
        hint: harm(node.cut ? "Ends the process, which the database cannot see" : "Ends the process at once", "kill") },
    (node.process === "frozen")
      ? { slot: "freeze", action: "thaw", label: "Thaw", enabled: true,
        hint: "SIGCONT. It looks at the clock before it does anything as the leader." }
      : { slot: "freeze", action: "freeze", label: "Freeze", enabled: running,
        hint: running ? harm("SIGSTOP, as a very long pause", "freeze") : "It does not run." },
    node.cut
      ? { slot: "cut", action: "reconnect", label: "Reconnect", enabled: node.process !== "dead",
        hint: "Its way to the database carries bytes again." }
      : { slot: "cut", action: "cut", label: "Cut off", enabled: running,
        hint: running ? harm("It and the database hear nothing of each other", "cut") : "It does not run." }
  ];
}
