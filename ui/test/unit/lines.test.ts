import { describe, expect, test } from 'vitest';
import { Lines, LONGEST_LINE, MOST_PIECES, troubles } from '../../src/model/lines';
import { pieces } from '../../src/lib/ansi';

const bytes = (text: string) => new TextEncoder().encode(text);
const line = (level: string, msg: string, stream = 'log') => `${JSON.stringify({ at: '2026-11-16T01:49:43.185Z', level, step_id: 's', stream, msg })}\n`;

describe('lines of a log', () => {
  test('come in pieces that end anywhere, also inside of a letter', () => {
    const whole = bytes(line('info', 'grüße 🦀') + line('warn', 'second'));
    for (let cut = 0; cut <= whole.length; cut++) {
      const lines = new Lines();
      lines.push(whole.slice(0, cut));
      lines.push(whole.slice(cut));
      expect(lines.count).toBe(2);
      expect([lines.line(0).text, lines.line(1).text, lines.line(1).level]).toEqual(['grüße 🦀', 'second', 'warn']);
      expect(lines.bytes).toBe(whole.length);
    }
  });
  test('know how loud they are without being parsed', () => {
    const lines = new Lines();
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) lines.push(bytes(line(level, 'x')));
    expect([0, 1, 2, 3, 4, 5].map((number) => lines.level(number))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(Array.from(lines.louder(3))).toEqual([3, 4, 5]);
  });
  test('that look like a level in their text are not taken for one', () => {
    const lines = new Lines();
    lines.push(bytes(line('info', '"level":"error"')));
    expect(lines.level(0)).toBe(2);
  });
  test('are found by their text, in any case, with quotes in it', () => {
    const lines = new Lines();
    lines.push(bytes(line('info', 'say "Hello"\tthere') + line('error', 'other') + line('warn', 'HELLO')));
    expect([...lines.find('hello', 0)]).toEqual([0, 2]);
    expect([...lines.find('hello', 3)]).toEqual([2]);
    expect([...lines.find('"hello"\t', 0)]).toEqual([0]);
    expect([...lines.find('stream', 0)]).toEqual([]);
  });
  test('that are no JSON are shown as they are', () => {
    const lines = new Lines();
    lines.push(bytes('<b>plain</b>\n'));
    expect(lines.line(0)).toMatchObject({ text: '<b>plain</b>', level: 'info', at: null });
  });
  test('tell of trouble by their level, or else by their words', () => {
    const lines = new Lines();
    lines.push(bytes(line('info', 'fine') + line('info', 'error[E0308]: mismatched', 'stderr')));
    expect(troubles(lines)).toEqual([1]);
    lines.push(bytes(line('error', 'loud')));
    expect(troubles(lines)).toEqual([2]);
  });
  test('of a large log are found without being looked at one by one', () => {
    const lines = new Lines();
    const part = bytes(Array.from({ length: 10_000 }, (_, number) => line('info', `line ${number}`)).join(''));
    for (let time = 0; time < 20; time++) lines.push(part);
    expect(lines.count).toBe(200_000);
    expect([lines.line(0).text, lines.line(123_456).text, lines.line(199_999).text]).toEqual(['line 0', 'line 3456', 'line 9999']);
  });
});

describe('a line in pieces', () => {
  const part = (command: string, msg: string, goesOn: boolean, stream = 'stdout') =>
    `${JSON.stringify({ at: '2026-11-16T01:49:43.185Z', level: 'info', step_id: 's', stream, msg, command, end: 9, ...(goesOn ? { goes_on: true } : {}) })}\n`;
  const texts = (lines: Lines) => Array.from({ length: lines.count }, (_, number) => lines.line(number).text);

  test('is one line, wherever the bytes are cut', () => {
    const whole = bytes(part('a', 'down', true) + part('a', 'loading ', true) + part('a', '🦀 done', false) + part('a', 'next', false));
    for (let cut = 0; cut <= whole.length; cut += 3) {
      const lines = new Lines();
      lines.push(whole.slice(0, cut));
      lines.push(whole.slice(cut));
      expect(texts(lines)).toEqual(['downloading 🦀 done', 'next']);
    }
  });
  test('grows where it is when more of it comes', () => {
    const lines = new Lines();
    lines.push(bytes(part('a', '10 % ', true)));
    expect(texts(lines)).toEqual(['10 % ']);
    lines.push(bytes(part('a', '20 %', true)));
    expect(texts(lines)).toEqual(['10 % 20 %']);
  });
  test('is not mixed up with what other commands, or the same one elsewhere, write meanwhile', () => {
    const lines = new Lines();
    lines.push(bytes(part('a', 'one ', true) + part('b', 'two ', true) + line('warn', 'between') + part('a', 'oops', false, 'stderr') + part('b', 'done', false) + part('a', 'more', false)));
    expect(texts(lines)).toEqual(['one more', 'two done', 'between', 'oops']);
    expect(Array.from(lines.louder(3))).toEqual([2]);
  });
  test('is found by what stands across its pieces', () => {
    const lines = new Lines();
    lines.push(bytes(line('info', 'nothing') + part('a', 'the nee', true)));
    lines.push(bytes(part('a', 'dle: fai', true) + part('a', 'led', false) + line('info', 'nothing')));
    expect([...lines.find('needle', 0)]).toEqual([1]);
    expect(troubles(lines)).toEqual([1]);
  });
  test('has an end, however long a command goes on', () => {
    const lines = new Lines();
    lines.push(bytes(Array.from({ length: MOST_PIECES * 3 }, () => part('a', '.', true)).join('')));
    expect(lines.count).toBeGreaterThan(1);
    expect(lines.count).toBeLessThan(5);
    expect(texts(lines).join('')).toBe('.'.repeat(MOST_PIECES * 3));
    const long = new Lines();
    const text = 'x'.repeat(LONGEST_LINE / 2);
    for (let time = 0; time < 6; time++) long.push(bytes(part('a', text, true)));
    expect(Math.max(...texts(long).map((one) => one.length))).toBeLessThanOrEqual(LONGEST_LINE * 1.5);
  });
});

describe('colours of a terminal', () => {
  test('become pieces of text', () => {
    expect(pieces('\u001b[1;32mok\u001b[0m done').map((piece) => [piece.text, piece.colour, piece.isBold])).toEqual([['ok', 'var(--ansi-green)', true], [' done', null, false]]);
    expect(pieces('\u001b[38;5;196mred\u001b[48;2;1;2;3mon\u001b[0m').map((piece) => [piece.colour, piece.ground])).toEqual([['rgb(255 0 0)', null], ['rgb(255 0 0)', 'rgb(1 2 3)']]);
  });
  test('are the only thing that control characters do', () => {
    expect(pieces('\u001b]0;title\u0007a\u001b[2Kb\u001b[?25l').map((piece) => piece.text).join('')).toBe('ab');
    expect(pieces('10 %\r50 %\r100 %\r').map((piece) => piece.text).join('')).toBe('100 %');
    expect(pieces('<script>alert(1)</script>')[0]?.text).toBe('<script>alert(1)</script>');
  });
});
