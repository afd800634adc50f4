import assert from "node:assert";
import test from "node:test";

import { free } from "../src/bookings.js";

const DAY = [480, 1080];

test("an empty day is free as a whole", () => {
  assert.deepStrictEqual(free([], DAY), [[480, 1080]]);
});

test("a booking divides the day", () => {
  assert.deepStrictEqual(free([[600, 660]], DAY), [[480, 600], [660, 1080]]);
});

test("bookings that touch leave nothing between them", () => {
  assert.deepStrictEqual(free([[480, 600], [600, 700]], DAY), [[700, 1080]]);
});

test("bookings come in any order", () => {
  assert.deepStrictEqual(free([[900, 960], [540, 600]], DAY), [[480, 540], [600, 900], [960, 1080]]);
});
