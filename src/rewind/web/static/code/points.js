// What the timeline shows: rows of the history (a turn, an edit, a checkpoint by hand, an operation), or
// every checkpoint. Both become points with the same fields.

import {oneLine} from '../core/format.js';

export const KINDS = {
  turn: 'Turn',
  edit: 'By hand',
  checkpoint: 'Checkpoint',
  operation: 'Rewind',
  manual: 'Manual',
  initial: 'First',
  backup: 'Backup',
  auto: 'Automatic',
};

/**
 * {key, kind, title, at, changes, from, name, before, names, ...}: its change leads from `from` to `name`.
 * `name` can be restored. `before` is the state before it, if that can be restored as well.
 */
export function pointOfRow(row) {
  const between = row.kind === 'turn' || row.kind === 'edit' || row.kind === 'operation';
  return {
    key: row.key,
    kind: row.kind === 'checkpoint' ? row.saved || 'manual' : row.kind,
    title: titleOf(row),
    at: row.createdAt,
    changes: row.changes,
    from: row.before,
    name: row.after || (row.kind === 'turn' ? null : row.before),
    before: between ? row.before : null,
    names: row.checkpoints,
    session: row.sessionId,
    turn: row.turn,
    here: row.here,
    undone: row.undone,
    running: row.kind === 'turn' && !row.ended,
    abandoned: row.abandoned,
  };
}

export function pointOfCheckpoint(one) {
  return {
    key: one.name,
    kind: KINDS[one.kind] ? one.kind : 'manual',
    title: oneLine(one.description, 140) || KINDS[one.kind] || one.kind,
    at: one.createdAt,
    changes: one.changes,
    from: one.parent,
    name: one.name,
    before: null,
    names: [one.name],
    session: one.sessionId,
    checkpoint: one,
  };
}

function titleOf(row) {
  const text = oneLine(row.label || row.text, 140);
  if (row.kind === 'edit') return 'Changed by hand';
  if (row.kind === 'operation') return text.charAt(0).toUpperCase() + text.slice(1);
  return text || (row.kind === 'turn' ? 'A prompt without text' : KINDS[row.saved] || 'Checkpoint');
}
