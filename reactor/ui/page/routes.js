// The ways of edges: SVG paths of the commands M, L, H, C and Q, and where they are.

/** A way as a whole: `line` to stroke, its extent, where it ends, and its `pieces`, each with line and extent. */
export function route(path) {
  const pieces = [];
  let start = null;
  for (const [, command, text] of path.matchAll(/([MLHCQ])([^MLHCQ]*)/g)) {
    const numbers = text.match(/-?[\d.]+/g).map(Number);
    const points = command === "H" ? [[numbers[0], start[1]]] : pairs(numbers);
    if (start) pieces.push({ line: new Path2D(`M${start} ${command}${text}`), ...extent([start, ...points]) });
    start = points.at(-1);
  }
  const corners = pieces.flatMap(({ left, top, right, bottom }) => [[left, top], [right, bottom]]);
  return { line: new Path2D(path), pieces, end: start, ...extent(corners) };
}

function pairs(numbers) {
  return numbers.filter((_, place) => place % 2 === 0).map((x, place) => [x, numbers[2 * place + 1]]);
}

function extent(points) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}
