// The last turns as the server pushes them: only what has changed since it said so last.

export class Pushed {
  turns = new Map();

  /** The page with whole turns; null where a part of one is not known here, and has to be asked for. */
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
