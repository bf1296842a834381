/** What is chosen in a table or a map. */

/**
 * The choice after a click on one of them: it is chosen, or no longer if it was.
 * `many`: whether others stay chosen beside it.
 */
export function toggled<T>(chosen: ReadonlySet<T>, one: T, many = true): ReadonlySet<T> {
  const next = new Set(many ? chosen : []);
  if (chosen.has(one)) {
    next.delete(one);
  } else {
    next.add(one);
  }
  return next;
}
