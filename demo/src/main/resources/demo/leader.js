// The buttons beside the headline. They act on the current leader, as those on its card do.

import { leaderOf, nextLeader } from "./actions.js";
import { once, outdate, toNode } from "./ask.js";
import { attribute, byId, text } from "./dom.js";

let state = null;

const buttons = () => byId("leader-actions").querySelectorAll("button");

export function enable() {
  for (const button of buttons()) {
    button.addEventListener("click", () => {
      const leader = state && leaderOf(state);
      if (leader && button.getAttribute("aria-disabled") !== "true") {
        once(button, () => toNode(leader.name, button.dataset.action), byId("leader-reply"));
      }
    });
  }
}

export function show(newState) {
  state = newState;
  const leader = leaderOf(state);
  for (const button of buttons()) {
    attribute(button, "aria-disabled", (leader && state.live) ? null : "true");
    text(byId(button.getAttribute("aria-describedby")),
        leader ? nextLeader(button.dataset.action, leader, state) : "no leader reports");
  }
  outdate(byId("leader-reply"), leader ? [leader.name, leader.pid, leader.cut].join("|") : "");
}
