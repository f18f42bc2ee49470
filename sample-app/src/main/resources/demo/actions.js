// What the buttons ask of the demo.

import { now } from "./clock.js";
import { announce } from "./dom.js";
import { seconds } from "./format.js";

const PATIENCE = 30_000;

/** Ask, and return what the demo answered: the message, and whether it does what was asked. */
export async function ask(path) {
  let answer;
  try {
    const response = await fetch(path, { method: "POST", signal: AbortSignal.timeout(PATIENCE) });
    const body = await response.json().catch(() => ({}));
    answer = { ok: response.ok, message: body.message ?? (response.ok ? "" : "Refused: HTTP " + response.status) };
  }
  catch {
    answer = { ok: false, message: "The demo does not answer." };
  }
  if (answer.message) {
    announce(answer.message);
  }
  return answer;
}

export const askNode = (node, action) => ask("api/nodes/" + encodeURIComponent(node) + "/" + action);

/** What can be done to a node now: what it says, and whether it can be done. */
export function actionsOf(node, state) {
  const leads = leadsNow(node);
  const holdsLock = leads || node.leadership?.role === "leader" && !state.nodes.some(leadsNow);
  const { lease, takeoverDelay } = state;
  const frozen = node.process === "frozen";
  const running = node.process === "running";
  const gone = node.process === "dead";
  const bound = seconds(lease + takeoverDelay);
  return [
    { slot: "resign", action: "resign", label: "Resign", enabled: running && leads,
      hint: leads ? "Finishes its work, then hands over: the next leads at once, without the takeover delay."
          : "Only the leader can hand over." },
    gone
      ? { slot: "kill", action: "start", label: "Start", enabled: true, hint: "A new process of this name." }
      : { slot: "kill", action: "kill", label: "kill -9", enabled: true,
        hint: holdsLock ? "Ends the process at once. The database sees the session end: the next leads after "
            + seconds(takeoverDelay) + "."
            : "Ends the process at once. Nobody waits for a follower." },
    frozen
      ? { slot: "freeze", action: "thaw", label: "Thaw", enabled: true,
        hint: "SIGCONT. It finds its lease over before it does anything as the leader." }
      : { slot: "freeze", action: "freeze", label: "Freeze", enabled: running,
        hint: leads ? "SIGSTOP, as a very long pause. The next leads when the lease is over: within " + bound + "."
            : "SIGSTOP. The leader does not mind." },
    node.cut
      ? { slot: "cut", action: "reconnect", label: "Reconnect", enabled: !gone,
        hint: "Its way to the database carries bytes again." }
      : { slot: "cut", action: "cut", label: "Cut off", enabled: running,
        hint: leads ? "The database hears nothing of it and it nothing of the database. It stops by itself before the "
            + "next leads: within " + bound + "."
            : "The database hears nothing of it and it nothing of the database." }
  ];
}

/** One answer that comes late does not make a leader a former one. */
const PATIENT = 1500;

export const leadsNow = (node) => node.process === "running" && node.leadership?.role === "leader"
  && (!node.leadership.stale || now() - node.seenAt < PATIENT);
