import { describe, expect, test } from 'vitest';
import { Warp } from '../../src/model/warp';

describe('time as it is shown', () => {
  test('is time as it was while there is work', () => {
    const warp = new Warp(1000, 5000, [{ from: 1000, to: 3000 }, { from: 3500, to: 5000 }]);
    expect([warp.folds, warp.length, warp.place(1000), warp.place(3500), warp.place(5000)]).toEqual([[], 4000, 0, 2500, 4000]);
  });
  test('folds a night of waiting', () => {
    const night = 8 * 3_600_000;
    const warp = new Warp(0, 10_000 + night, [{ from: 0, to: 6_000 }, { from: 6_000 + night, to: 10_000 + night }]);
    expect(warp.folds).toEqual([{ from: 6_000, to: 6_000 + night, start: 6_000, end: 6_900, isFork: false }]);
    expect([warp.place(6_000), warp.place(6_000 + night / 2), warp.place(6_000 + night), warp.place(10_000 + night)]).toEqual([6_000, 6_450, 6_900, 10_900]);
    expect(warp.plain).toEqual([{ start: 0, end: 6_000, from: 0 }, { start: 6_900, end: 10_900, from: 6_000 + night }]);
  });
  test('folds a wait that still goes on', () => {
    const warp = new Warp(0, 100_000, [{ from: 0, to: 10_000 }]);
    expect(warp.folds).toMatchObject([{ from: 10_000, to: 100_000 }]);
    expect(warp.length).toBe(10_900);
  });
  test('folds the time between a run and its fork, and counts from there', () => {
    const warp = new Warp(0, 1_002_000, [{ from: 0, to: 8_000 }, { from: 1_000_000, to: 1_002_000 }], [{ from: 8_500, to: 1_000_000 }]);
    expect(warp.folds).toEqual([{ from: 8_500, to: 1_000_000, start: 8_500, end: 9_400, isFork: true }]);
    expect([warp.beginning(4_000), warp.beginning(1_000_000), warp.length]).toEqual([0, 1_000_000, 11_400]);
    expect(new Warp(0, 1_002_000, [], [{ from: 8_000, to: 1_000_000 }]).length).toBe(10_900);
  });
  test('never folds where nothing was done', () => {
    expect(new Warp(0, 100_000, []).folds).toEqual([]);
  });
  test('goes forward only', () => {
    const warp = new Warp(0, 500_000, [{ from: 0, to: 5_000 }, { from: 200_000, to: 201_000 }, { from: 400_000, to: 404_000 }]);
    let last = -1;
    for (let at = 0; at <= 500_000; at += 500) {
      expect(warp.place(at)).toBeGreaterThan(last);
      last = warp.place(at);
    }
    expect(warp.place(500_000)).toBeCloseTo(warp.length);
  });
});
