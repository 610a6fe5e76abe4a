import { describe, expect, test } from 'vitest';
import { ago, bytes, clock, count, due, duration, full, moment, money, plural, tick } from '../../src/lib/format';

describe('lengths of time', () => {
  test('are written with two units at most', () => {
    expect([0, 820, 999, 4_992, 59_999, 61_000, 185_000, 7_800_000, 273_600_000].map(duration)).toEqual([
      '0 ms', '820 ms', '999 ms', '4.9 s', '59.9 s', '1m 01s', '3m 05s', '2h 10m', '3d 4h',
    ]);
  });
  test('that nobody knows are a dash, and those that run backwards are nothing', () => {
    expect([duration(null), duration(undefined), duration(Number.NaN), duration(-5)]).toEqual(['–', '–', '–', '0 ms']);
  });
  test('on an axis are short', () => {
    expect([0, 200, 1_500, 60_000, 90_000, 3_600_000, 5_400_000].map(tick)).toEqual(['0', '200 ms', '1.5 s', '1m', '1m 30s', '1h', '1h 30m']);
  });
});

describe('moments', () => {
  const now = Date.parse('2026-11-16T12:00:00Z');
  test('are told from now', () => {
    const before = (ms: number) => ago(now - ms, now);
    expect([before(1_000), before(24_000), before(240_000), before(7_200_000), before(86_400_000), before(3 * 86_400_000)]).toEqual([
      'just now', '24 s ago', '4 min ago', '2 h ago', '1 day ago', '3 days ago',
    ]);
    expect(ago(now + 90_000, now)).toBe('in 1 min');
  });
  test('to come have a date unless they are today', () => {
    const local = new Date(2026, 10, 16, 8, 0).getTime();
    expect([59_000, 9.5 * 60_000, 3 * 86_400_000 + 60_000, -5].map((ms) => due(local + ms, local))).toEqual([
      'in 59 s · 08:00', 'in 9 min · 08:09', 'in 3 days · Thu 19 Nov 08:01', 'now',
    ]);
    expect(due(new Date(2027, 0, 2, 9, 5).getTime(), local)).toBe('in 47 days · Sat 2 Jan 2027 09:05');
  });
  test('long ago have a date', () => {
    expect(ago('2026-11-03T12:00:00Z', now)).toBe('3 Nov');
    expect(ago('2024-02-29T12:00:00Z', now)).toBe('29 Feb 2024');
  });
  test('that are none are a dash', () => {
    expect([ago(null, now), clock(undefined), full(null), moment('soon')]).toEqual(['–', '–', '', null]);
  });
});

test('sizes, numbers and money are short and do not lie', () => {
  expect([0, 558, 1_200, 999_960, 412_900_000, 3e12].map(bytes)).toEqual(['0 B', '558 B', '1.2 kB', '1.0 MB', '412.9 MB', '3.0 TB']);
  expect([820, 9_999, 12_000, 999_499, 1_400_000].map(count)).toEqual(['820', '9999', '12k', '999k', '1.4M']);
  expect([0, 0.004, 0.271, 12.3, null].map(money)).toEqual(['$0.00', '< $0.01', '$0.27', '$12.30', '–']);
  expect([plural(1, 'file'), plural(2000, 'step')]).toEqual(['1 file', '2,000 steps']);
});
