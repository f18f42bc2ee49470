// What the election is held with, and what that means for a silent leader.

import { byId, text } from "./dom.js";

export const isTable = ({ store }) => store === "table";

/** Who waits for the lease of a silent leader. */
export const waiting = (state) => (isTable(state) ? "the other nodes wait" : "the database waits");

export function show(state) {
  text(byId("store"), isTable(state) ? "by a lease in a table" : "by an advisory lock");
}
