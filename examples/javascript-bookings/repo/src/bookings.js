/** The times of `day` in which no booking lies. */
export function free(bookings, day) {
  const [opening, closing] = day;
  const result = [];
  let at = opening;
  for (const [start, end] of bookings) {
    if (start > at) result.push([at, start]);
    at = end;
  }
  if (at < closing) result.push([at, closing]);
  return result;
}
