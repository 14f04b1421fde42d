// The visible part of the graph: an offset and a scale, and their animation.

const SMALLEST = 0.02;
const GREATEST = 4;
const GLIDE = 260; // ms

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class View {
  /** `changed` is called whenever the view changes. */
  constructor(changed) {
    this.changed = changed;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.width = 1;
    this.height = 1;
    this.glide = null;
    this.whole = null; // the box that is kept fully visible, until the view is moved
  }

  /** Set the size, in CSS pixels. */
  resize(width, height) {
    this.width = width;
    this.height = height;
    if (this.whole) this.show(this.whole);
    this.changed();
  }

  pan(x, y) {
    this.#set({ x: this.x + x, y: this.y + y, scale: this.scale });
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(GREATEST, Math.max(SMALLEST, this.scale * factor));
    const grown = scale / this.scale;
    this.#set({ x: x - (x - this.x) * grown, y: y - (y - this.y) * grown, scale });
  }

  /** Fit a box `{x, y, width, height}` of the graph, and keep it fitted when the size changes. */
  show(box, { gliding = true } = {}) {
    const room = Math.min((this.width - 48) / box.width, (this.height - 48) / box.height);
    this.center(box, Math.max(SMALLEST, Math.min(1, room)), { gliding });
    this.whole = box;
  }

  /** Move a box into view, large enough to be readable. */
  reveal(box) {
    const [left, top] = this.toScreen(box.x, box.y);
    const [right, bottom] = this.toScreen(box.x + box.width, box.y + box.height);
    const inside = left >= 0 && top >= 0 && right <= this.width && bottom <= this.height;
    if (!inside || this.scale < 0.75) this.center(box, Math.max(this.scale, 0.9));
  }

  center(box, scale, { gliding = true } = {}) {
    const x = this.width / 2 - (box.x + box.width / 2) * scale;
    const y = this.height / 2 - (box.y + box.height / 2) * scale;
    if (gliding && !still.matches) this.#glide({ x, y, scale });
    else this.#set({ x, y, scale });
  }

  toScreen(x, y) {
    return [x * this.scale + this.x, y * this.scale + this.y];
  }

  toGraph(x, y) {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  /** The visible part of the graph. */
  get window() {
    const [left, top] = this.toGraph(0, 0);
    const [right, bottom] = this.toGraph(this.width, this.height);
    return { left, top, right, bottom };
  }

  /** Advance the animation; true while it runs. */
  step(now) {
    if (!this.glide) return false;
    const { from, to, start } = this.glide;
    const passed = Math.min(1, Math.max(0, (now - start) / GLIDE));
    const share = 1 - (1 - passed) ** 3;
    const between = (key) => from[key] + (to[key] - from[key]) * share;
    Object.assign(this, { x: between("x"), y: between("y"), scale: between("scale") });
    if (passed === 1) this.glide = null;
    return true;
  }

  #set(place) {
    this.glide = null;
    this.whole = null;
    Object.assign(this, place);
    this.changed();
  }

  #glide(to) {
    this.whole = null;
    this.glide = { from: { x: this.x, y: this.y, scale: this.scale }, to, start: performance.now() };
    this.changed();
  }
}
