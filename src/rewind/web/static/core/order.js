// Controls when something is read: many requests in a row become one, and answers stay in order.

/** A request during a reading causes one more reading afterwards, so answers cannot overtake each other. */
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

/** Many calls in a row cause one run, some time after the last call. */
export function afterPause(run, wait) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  };
}
