// When something is read, and in which order: many wishes in a row are one, and answers cannot overtake.

/** Asked for while it is read, it is read once more afterwards: the answers cannot overtake each other. */
export function oneAtATime(read) {
  let now = null;
  let next = null;
  const begin = () => {
    next = null;
    now = read().finally(() => {
      now = null;
    });
    return now;
  };
  return () => {
    if (!now) return begin();
    next = next || now.then(begin, begin);
    return next;
  };
}

/** Asked for many times in a row, it runs once: a while after the last time. */
export function afterPause(run, wait) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  };
}
