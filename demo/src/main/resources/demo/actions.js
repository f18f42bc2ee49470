// The actions on a node, and what to expect of them.

import { seconds } from "./format.js";
import { latestOf, leadingTerms } from "./seams.js";
import { isTable } from "./store.js";

/** Whether a node could lead if no other node did. */
export const canLead = (node) => node.process === "running" && !node.cut;

/** The node that leads, if one does and no other, and can be asked to do something. */
export function leaderOf(state) {
  const leading = leadingTerms(state.terms);
  const node = (leading.length === 1) ? state.nodes.find((one) => one.name === leading[0].node) : null;
  return (node?.process === "running") ? node : null;
}

/** Whether others wait for a node: it leads, or no node has led since its last report. */
function isWaitedFor(node, state) {
  const last = latestOf(state.terms);
  return last?.node === node.name && (last.to === null || last.provisional) && node.process !== "dead";
}

/** When the next one leads, if this is done to the leader. */
export function nextLeader(action, node, state) {
  const others = state.nodes.filter((other) => other !== node && other.process !== "dead");
  if (!others.some(canLead)) {
    return "no other node could lead";
  }
  const { lease, silence } = state;
  const notified = isNotified(action, node, state);
  // A node that is frozen or cut off may be first in the queue for the lock
  if (!isTable(state) && others.some((other) => other.process === "frozen" || other.cut)) {
    return "next leader within " + seconds(notified ? lease : lease + silence);
  }
  if (notified) {
    return (action === "resign") ? "next leader at once" : "next leader within less than 1 s";
  }
  return "next leader within " + seconds(silence);
}

/** Whether the others learn of it at once, rather than waiting for a lease without any contact. */
const isNotified = (action, node, state) => !node.cut
  && (action === "resign" || (action === "kill" && !isTable(state)));

/** The actions on a node, with their labels, hints, and whether each is possible now. */
export function actionsOf(node, state) {
  const leads = leaderOf(state) === node;
  const running = node.process === "running";
  const effect = (what, action) => (isWaitedFor(node, state) ? what + ": " + nextLeader(action, node, state) + "."
      : "It does not lead: nothing changes.");
  return [
    { slot: "resign", action: "resign", label: "Resign", enabled: running && leads,
      hint: leads ? effect(node.cut ? "Finishes its work; the database is not notified"
          : "Finishes its work and hands over", "resign") : "Only the leader can hand over." },
    (node.process === "dead")
      ? { slot: "kill", action: "start", label: "Start", enabled: true, hint: "A new process of this name." }
      : { slot: "kill", action: "kill", label: "kill -9", enabled: true,
        hint: effect(node.cut ? "Ends the process; the database is not notified" : "Ends the process at once", "kill") },
    (node.process === "frozen")
      ? { slot: "freeze", action: "thaw", label: "Thaw", enabled: true,
        hint: "SIGCONT. It checks the clock before it acts as the leader." }
      : { slot: "freeze", action: "freeze", label: "Freeze", enabled: running,
        hint: running ? effect("SIGSTOP, like a very long pause", "freeze") : "It does not run." },
    node.cut
      ? { slot: "cut", action: "reconnect", label: "Reconnect", enabled: node.process !== "dead",
        hint: "Its network path to the database works again." }
      : { slot: "cut", action: "cut", label: "Cut off", enabled: running,
        hint: running ? effect("Nothing passes between it and the database", "cut") : "It does not run." }
  ];
}
