// What of the language a workflow does not get as it is: the clock, chance, timers, and whatever would tell one
// execution from another. And what the host's own code keeps for itself, from before anybody could change it.

let host = globalThis.__agentos;
delete globalThis.__agentos;

/** The doors of the host, for whoever asks first. */
export function hostOf() {
  const taken = host;
  host = undefined;
  return taken;
}

const { now, random } = host;
const { apply, construct } = Reflect;
const { freeze, defineProperty: define, keys: ownKeys } = Object;
const RealPromise = Promise, RealTypeError = TypeError;
const resolve = RealPromise.resolve, reject = RealPromise.reject;

export const primordials = freeze({
  apply, freeze, define, ownKeys, WeakMap, Error, TypeError, RangeError, InternalError, Promise,
  parse: JSON.parse,
  stringify: JSON.stringify,
  isArray: Array.isArray,
  weakGet: WeakMap.prototype.get,
  weakSet: WeakMap.prototype.set,
  weakHas: WeakMap.prototype.has,
  then: Promise.prototype.then,
  promiseResolve: (value) => apply(resolve, RealPromise, [value]),
  promiseReject: (error) => apply(reject, RealPromise, [error]),
  prototypes: freeze({ promise: Promise.prototype }),
});

Math.random = () => random();

// The clock: that of the run, in UTC, whatever the machine says.

const RealDate = Date;
const test = RegExp.prototype.exec;
const realParse = RealDate.parse, realUtc = RealDate.UTC;
const getTime = RealDate.prototype.getTime;
const match = (pattern, text) => apply(test, pattern, [text]);

const DAY_ONLY = /^[+-]?\d{4,6}(-\d\d(-\d\d)?)?$/;
const ISO_WITHOUT_ZONE = /^([+-]?\d{4,6}-\d\d(?:-\d\d)?)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)$/;
const ZONE = /(Z|[+-]\d\d:?\d\d|[+-]\d{1,4}|\b(GMT|UTC|UT|[ECMP][SD]T))\s*(\([^)]*\))?\s*$/i;

/** A text as a time. One that names no zone means UTC, never the zone of the machine. */
function parseDate(text) {
  if (match(DAY_ONLY, text) !== null) return realParse(text);
  const parts = match(ISO_WITHOUT_ZONE, text);
  if (parts !== null) return realParse(parts[1] + "T" + parts[2] + "Z");
  if (match(ZONE, text) !== null) return realParse(text);
  return realParse(text + " GMT");
}

function timeOf(value) {
  if (typeof value === "object" && value !== null) {
    try {
      return apply(getTime, value, []);
    } catch {
      value = toPrimitive(value);
    }
  }
  return typeof value === "string" ? parseDate(value) : value;
}

function toPrimitive(value) {
  const primitive = value.valueOf();
  return typeof primitive === "object" ? "" + value : primitive;
}

function RunDate(...parts) {
  if (new.target === undefined) return new RunDate().toString();
  const time = parts.length === 0 ? now() : parts.length === 1 ? timeOf(parts[0]) : apply(realUtc, RealDate, parts);
  return construct(RealDate, [time], new.target);
}
define(RunDate, "name", { value: "Date" });
define(RunDate, "length", { value: 7 });
define(RunDate, "prototype", { value: RealDate.prototype, writable: false });
RunDate.now = () => now();
RunDate.parse = (text) => parseDate("" + text);
RunDate.UTC = realUtc;

const prototype = RealDate.prototype;
const hidden = (key, value) => define(prototype, key, { value, configurable: true, writable: true });
hidden("constructor", RunDate);
for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
  hidden("get" + part, prototype["getUTC" + part]);
  if (part !== "Day") hidden("set" + part, prototype["setUTC" + part]);
}
const { toISOString, toUTCString, getUTCFullYear, setUTCFullYear } = prototype;
const dayOf = (date) => apply(toISOString, date, []).slice(0, 10);
const clockOf = (date) => apply(toISOString, date, []).slice(11, 19);
hidden("getTimezoneOffset", function () { return apply(getTime, this, []) * 0; });
hidden("getYear", function () { return apply(getUTCFullYear, this, []) - 1900; });
hidden("setYear", function (year) { return apply(setUTCFullYear, this, [year >= 0 && year <= 99 ? 1900 + year : year]); });
hidden("toString", toUTCString);
hidden("toDateString", function () { return dayOf(this); });
hidden("toTimeString", function () { return clockOf(this) + " GMT"; });
hidden("toLocaleString", function () { return dayOf(this) + " " + clockOf(this); });
hidden("toLocaleDateString", function () { return dayOf(this); });
hidden("toLocaleTimeString", function () { return clockOf(this); });
define(globalThis, "Date", { value: RunDate, configurable: true, writable: true });

// What waits, what another thread could change, and what tells when memory is given back.

for (const name of ["WeakRef", "FinalizationRegistry", "Atomics", "SharedArrayBuffer", "performance", "navigator"]) {
  delete globalThis[name];
}
for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
  define(globalThis, name, {
    value: () => {
      throw new RealTypeError(name + " is not there: a timer would be forgotten in a crash; use `await ctx.sleep(ms)`");
    },
    configurable: true,
    writable: true,
  });
}
