import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../src/total.js";

test("items are added up", () => {
  assert.equal(total([{ cents: 150 }, { cents: 25, count: 4 }]), 250);
});

test("an empty basket costs nothing", () => {
  assert.equal(total([]), 0);
});

// Written with the specification, before the feature: it fails until there are discounts.
test("a discount is taken off, and cents stay whole", () => {
  assert.equal(total([{ cents: 199 }], { discount: 10 }), 179);
});
