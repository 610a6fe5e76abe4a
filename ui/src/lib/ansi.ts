/** Colours of a terminal, as pieces of text with a look. Pieces are drawn as text: a log can't become markup. */

import { plainly } from './format';
import { createAnsiSequenceParser, type ParseToken } from 'ansi-sequence-parser';

export interface Piece {
  text: string;
  /** A colour of ours (`var(--ansi-red)`), or one that the program chose itself. */
  colour: string | null;
  ground: string | null;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
}

/** Titles, cursor movements and links: they mean nothing on a page. */
// eslint-disable-next-line no-control-regex
const OTHER = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-9;?]*[A-HJKSTfhlnsu]|\u001b[()][A-Z0-9]|[\u0000-\u0008\u000b\u000c\u000e-\u001a]/g;

export function pieces(line: string): Piece[] {
  if (!line.includes('\u001b')) return [plain(tidy(line))];
  const parser = createAnsiSequenceParser();
  return parser.parse(tidy(line)).map(piece).filter((one) => one.text !== '');
}

/** What a carriage return would have painted over is gone, as in a terminal. */
function tidy(line: string): string {
  const text = plainly(line.replace(OTHER, '').replace(/\r+$/, ''));
  return text.includes('\r') ? text.slice(text.lastIndexOf('\r') + 1) : text;
}

function plain(text: string): Piece {
  return { text, colour: null, ground: null, isBold: false, isDim: false, isItalic: false, isUnderlined: false };
}

function piece(token: ParseToken): Piece {
  const reverse = token.decorations.has('reverse');
  const [front, back] = reverse ? [token.background, token.foreground] : [token.foreground, token.background];
  return {
    text: token.value,
    colour: colour(front) ?? (reverse ? 'var(--surface)' : null),
    ground: colour(back) ?? (reverse ? 'var(--text)' : null),
    isBold: token.decorations.has('bold'),
    isDim: token.decorations.has('dim'),
    isItalic: token.decorations.has('italic'),
    isUnderlined: token.decorations.has('underline'),
  };
}

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

function colour(value: ParseToken['foreground']): string | null {
  if (!value) return null;
  if (value.type === 'rgb') return `rgb(${value.rgb.join(' ')})`;
  if (value.type === 'named') return named(value.name);
  return table(value.index);
}

function named(name: string): string {
  const base = name.replace(/^bright/, '').toLowerCase();
  return `var(--ansi-${NAMES.includes(base) ? base : 'white'})`;
}

function table(index: number): string {
  if (index < 16) return `var(--ansi-${NAMES[index % 8]})`;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const part = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return `rgb(${part(Math.floor(cube / 36))} ${part(Math.floor(cube / 6) % 6)} ${part(cube % 6)})`;
}
