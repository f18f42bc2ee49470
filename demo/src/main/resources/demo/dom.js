// Small helpers for the page. Text is only ever set as text: what nodes report never becomes markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export const label = (type, x, y, words) => svg("text", { "class": type, x, y }, words);

function fill(created, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  created.append(...children);
  return created;
}

/** Set the text if it has changed, so that a screen reader reads only changes and a selection stays. */
export function text(target, value) {
  if (target.textContent !== value) {
    target.textContent = value;
  }
}

export function attribute(target, name, value) {
  if (value === null) {
    target.removeAttribute(name);
  }
  else if (target.getAttribute(name) !== String(value)) {
    target.setAttribute(name, value);
  }
}

/** Make the children of a parent those of the items, and keep the elements that are there already. */
export function reconcile(parent, items, key, create, update) {
  const present = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, index) => {
    const name = String(key(item));
    let child = present.get(name);
    if (!child) {
      child = create(item);
      child.dataset.key = name;
    }
    present.delete(name);
    if (parent.children[index] !== child) {
      parent.insertBefore(child, parent.children[index] ?? null);
    }
    update(child, item);
  });
  present.forEach((child) => child.remove());
}

export const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** How many announcements stay readable. */
const ANNOUNCED = 5;

/** Announce a message to a screen reader, as an entry of a log: it does not replace earlier ones. */
export function announce(message) {
  const log = byId("announcer");
  log.append(element("p", {}, message));
  while (log.children.length > ANNOUNCED) {
    log.firstChild.remove();
  }
}
