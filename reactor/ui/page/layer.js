// A canvas that shows the part of the graph that is in view.

/** The scale from which on all text can be read. */
export const NEAR = 0.75;
/** The scale from which on there is room for a name in large letters. */
export const MIDDLE = 0.38;
/** The scale up to which a box is a spot of colour. */
export const FAR = 0.22;

export class Layer {
  /** `drawing` knows the view, the colours, and what stands out. */
  constructor(canvas, drawing) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.drawing = drawing;
  }

  /** Take as many pixels; answers whether they are others than before. */
  resize(width, height) {
    if (this.canvas.width === width && this.canvas.height === height) return false;
    Object.assign(this.canvas, { width, height });
    return true;
  }

  /** Begin a frame: an empty canvas, in the coordinates of the graph. */
  begin() {
    const { context, canvas, drawing: { view, density } } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const scale = view.scale * density;
    context.setTransform(scale, 0, 0, scale, view.x * density, view.y * density);
  }
}

/** Whether anything with an extent can be seen in a window. */
export function within(part, { left, top, right, bottom }) {
  return part.right >= left && part.left <= right && part.bottom >= top && part.top <= bottom;
}
