// The requests of the buttons to the demo, and its replies.

import { announce, text } from "./dom.js";

const TIMEOUT = 30_000;

/** A change this soon after a reply is the one that was asked for. */
const EXPECTED = 2000;

const replies = new WeakMap();

export const further = () => ask("api/nodes");

export const toNode = (node, action) => ask("api/nodes/" + encodeURIComponent(node) + "/" + action);

/** Send a request, and return the message of the demo and whether it accepts the request. */
async function ask(path) {
  try {
    const response = await fetch(path, { method: "POST", signal: AbortSignal.timeout(TIMEOUT) });
    const body = await response.json().catch(() => ({}));
    return { ok: response.ok, message: body.message ?? (response.ok ? "" : "Refused: HTTP " + response.status) };
  }
  catch {
    return { ok: false, message: "The demo does not answer." };
  }
}

/** Ask on behalf of a button, unless it already waits for an answer. Only a refusal is announced: success is visible. */
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

/** Remove a reply when its subject has changed. */
export function outdate(reply, about) {
  const { at = 0, about: before } = replies.get(reply) ?? {};
  if (before !== about) {
    replies.set(reply, { at, about });
    if (Date.now() - at > EXPECTED) {
      text(reply, "");
    }
  }
}
