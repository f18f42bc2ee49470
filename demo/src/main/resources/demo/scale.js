// Where a moment and a node are on the timeline. The drawing is fixed: each frame moves all of it to the left.

export const TOP = 26;
export const LANE = 62;
export const AXIS = 24;

/** How far what is not over reaches to the right, out of sight. */
const AHEAD = 600_000;

export class Scale {
  span = 60;
  width = 0;
  base = 0;
  nodes = [];

  x(at) {
    return (at - this.base) * this.width / (this.span * 1000);
  }

  /** Where something ends, which may not have ended. */
  stop(to, now) {
    return this.x(to ?? now + AHEAD);
  }

  /** Where the left border of the picture is that ends at a time. */
  left(end) {
    return this.x(end) - this.width;
  }

  lane(node) {
    return TOP + (1 + this.nodes.indexOf(node)) * LANE;
  }

  get height() {
    return TOP + (1 + this.nodes.length) * LANE;
  }
}
