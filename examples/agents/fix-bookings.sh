# An honest solution: sorts a copy, clips to the day, never steps back.
cat >src/bookings.js <<'FILE'
/** The times of `day` in which no booking lies. */
export function free(bookings, day) {
  const [opening, closing] = day;
  const result = [];
  let at = opening;
  for (const [start, end] of [...bookings].sort((one, other) => one[0] - other[0])) {
    if (start >= closing) break;
    if (start > at) result.push([at, start]);
    at = Math.max(at, end);
  }
  if (at < closing) result.push([at, closing]);
  return result;
}
FILE
node --test test/bookings.test.js
