// What the buttons ask of the demo, and its replies.

import { announce, text } from "./dom.js";

const PATIENCE = 30_000;

/** How soon after a reply a change is what was asked for, and not the next thing. */
const MEANT = 2000;

const replies = new WeakMap();

export const further = () => ask("api/nodes");

export const toNode = (node, action) => ask("api/nodes/" + encodeURIComponent(node) + "/" + action);

/** Ask, and return what the demo answered: the message, and whether it does what was asked. */
async function ask(path) {
  try {
    const response = await fetch(path, { method: "POST", signal: AbortSignal.timeout(PATIENCE) });
    const body = await response.json().catch(() => ({}));
    return { ok: response.ok, message: body.message ?? (response.ok ? "" : "Refused: HTTP " + response.status) };
  }
  catch {
    return { ok: false, message: "The demo does not answer." };
  }
}

/** Ask on behalf of a button, unless it waits for an answer already. Only a refusal is announced: else it is seen. */
export async function once(button, asked, reply) {
  if (button.getAttribute("aria-busy") === "true") {
    return;
  }
  button.setAttribute("aria-busy", "true");
  const { ok, message } = await asked();
  button.removeAttribute("aria-busy");
  text(reply, message);
  reply.dataset.ok = ok;
  replies.set(reply, { ...replies.get(reply), at: Date.now() });
  if (!ok) {
    announce(message);
  }
}

/** Take back a reply when what it was about has changed. */
export function outdate(reply, about) {
  const { at = 0, about: before } = replies.get(reply) ?? {};
  if (before !== about) {
    replies.set(reply, { at, about });
    if (Date.now() - at > MEANT) {
      text(reply, "");
    }
  }
}
