// Gives the code of a turn a name in the history.

import {act} from '../sessions/branches.js';
import {oneLine} from '../core/format.js';
import {askName} from '../parts/modal.js';
import {say} from '../parts/toast.js';

export async function markTurn(session, turn) {
  const name = await askName(
    `Mark turn ${turn.turn} as a checkpoint`,
    'Name',
    oneLine(turn.prompt, 60) || `Turn ${turn.turn}`,
    'Mark',
  );
  if (name)
    await act('mark_turn', {sessionId: session.sessionId, turn: turn.turn, name}, () =>
      say(`Turn ${turn.turn} is marked as “${name}”.`),
    );
}
