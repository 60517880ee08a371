// The layout of the graph, without drawing: which lane a session gets, and where its own turns begin.

/**
 * The sessions of one root as lanes from top to bottom: [{session, depth, start, end}]. A fork is below its
 * parent. Forks that parted later are nearer to the parent, so that lines do not cross.
 */
export function lanesOf(root, childrenOf) {
  const found = [];
  const seen = new Set();
  const add = (session, depth) => {
    if (seen.has(session.sessionId)) return;
    seen.add(session.sessionId);
    const start = depth ? Math.min(session.rewindFromTurn || 0, session.turns) : 0;
    found.push({session, depth, start, end: session.turns});
    const forks = [...childrenOf(session)].sort((a, b) => (b.rewindFromTurn || 0) - (a.rewindFromTurn || 0));
    for (const fork of forks) add(fork, depth + 1);
  };
  add(root, 0);
  return found;
}

const WIDEST = 56; // pixels of one turn, so that a short session does not fill the screen

/** The distance of a turn from the left edge. A long lane fills the width. */
export function scaleOf(lanes, rewinds, width, margin = 12) {
  const most = Math.max(1, ...lanes.map(lane => lane.end), ...rewinds.map(one => one.turn + one.left));
  const step = Math.min(WIDEST, Math.max(0, width - 2 * margin) / most);
  return turn => margin + turn * step;
}

/** The turn nearest to a position on a lane. */
export function turnAt(lane, x, scale) {
  let best = Math.max(1, lane.start);
  for (let turn = best; turn <= lane.end; turn += 1)
    if (Math.abs(scale(turn) - x) < Math.abs(scale(best) - x)) best = turn;
  return Math.min(best, lane.end);
}
