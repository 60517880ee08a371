// Answers may come in another order than they were asked for.

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
