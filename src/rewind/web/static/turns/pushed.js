// Completes the last turns that the server pushes, because a push only has what changed since the last one.

export class Pushed {
  turns = new Map();

  /** The page with whole turns. null if a part is not known here, so that the turns have to be read. */
  whole(page) {
    const turns = page.turns.map(turn => this.complete(turn));
    if (turns.some(turn => !turn)) return null;
    this.turns = new Map(turns.map(turn => [turn.turn, turn]));
    return {...page, turns};
  }

  complete(turn) {
    const known = this.turns.get(turn.turn);
    if (turn.same) return known;
    if (!turn.blocksFrom) return turn;
    if (!known || known.blocks.length < turn.blocksFrom) return null;
    const {blocksFrom, ...rest} = turn;
    return {...known, ...rest, blocks: [...known.blocks.slice(0, blocksFrom), ...turn.blocks]};
  }
}
