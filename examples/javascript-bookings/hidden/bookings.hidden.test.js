import assert from "node:assert";
import test from "node:test";

import { free } from "../src/bookings.js";

const DAY = [480, 1080];

test("three bookings in reverse order", () => {
  const bookings = [[1000, 1020], [700, 760], [500, 520]];
  assert.deepStrictEqual(free(bookings, DAY), [[480, 500], [520, 700], [760, 1000], [1020, 1080]]);
});

test("a booking inside another one frees nothing", () => {
  assert.deepStrictEqual(free([[540, 900], [600, 660]], DAY), [[480, 540], [900, 1080]]);
});

test("overlapping bookings count once", () => {
  assert.deepStrictEqual(free([[540, 660], [630, 720]], DAY), [[480, 540], [720, 1080]]);
});

test("a booking that begins before the day", () => {
  assert.deepStrictEqual(free([[300, 510]], DAY), [[510, 1080]]);
});

test("a booking that ends after the day", () => {
  assert.deepStrictEqual(free([[1050, 1200]], DAY), [[480, 1050]]);
});

test("bookings outside the day change nothing", () => {
  assert.deepStrictEqual(free([[100, 200], [1100, 1200]], DAY), [[480, 1080]]);
});

test("a day that is booked as a whole has no free time", () => {
  assert.deepStrictEqual(free([[400, 1200]], DAY), []);
});

test("the bookings of the caller stay in their order", () => {
  const bookings = [[900, 960], [540, 600]];
  free(bookings, DAY);
  assert.deepStrictEqual(bookings, [[900, 960], [540, 600]]);
});
