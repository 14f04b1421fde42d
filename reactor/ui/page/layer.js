// A canvas for the visible part of the graph.

/** From this scale on, all text is readable. */
export const NEAR = 0.75;
/** From this scale on, there is room for a name in large letters. */
export const MIDDLE = 0.38;
/** Up to this scale, a box is only a coloured spot. */
export const FAR = 0.22;

export class Layer {
  /** `drawing` has the view, the colours, and the highlighted boxes. */
  constructor(canvas, drawing) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.drawing = drawing;
  }

  /** Set the size in pixels. Returns whether it has changed. */
  resize(width, height) {
    if (this.canvas.width === width && this.canvas.height === height) return false;
    Object.assign(this.canvas, { width, height });
    return true;
  }

  /** Clear the canvas and set the coordinates of the graph. */
  begin() {
    const { context, canvas, drawing: { view, density } } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const scale = view.scale * density;
    context.setTransform(scale, 0, 0, scale, view.x * density, view.y * density);
  }
}

/** Whether something with an extent is visible in a window. */
export function within(part, { left, top, right, bottom }) {
  return part.right >= left && part.left <= right && part.bottom >= top && part.top <= bottom;
}
