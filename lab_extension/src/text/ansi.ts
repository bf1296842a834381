/** The colours of a terminal in a line of text. Everything else that a terminal would obey is left out. */

import { colouredText, plainText } from './format';

/** A part of a line, and how it looks: names of classes of `style/log.css`. */
export interface IStyledText {
  text: string;
  className: string;
}

// eslint-disable-next-line no-control-regex
const STYLE = /\u001b\[([0-9;:]{0,64})m/g;
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

interface ILook {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
  /** Number of a colour, 0 to 15; null: that of the page. */
  front: number | null;
  back: number | null;
}

const PLAIN: ILook = {
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
  front: null,
  back: null
};

/** A line in parts that each look one way. Their texts together are the `plainText` of the line. */
export function styledText(line: string): IStyledText[] {
  if (!line.includes('\u001b')) {
    return [{ text: line, className: '' }];
  }
  const kept = colouredText(line);
  const parts: IStyledText[] = [];
  let look = PLAIN;
  let from = 0;
  const add = (until: number): void => {
    const text = plainText(kept.slice(from, until));
    const className = classOf(look);
    const last = parts.at(-1);
    if (last?.className === className) {
      last.text += text;
    } else if (text !== '') {
      parts.push({ text, className });
    }
  };
  for (const found of kept.matchAll(STYLE)) {
    add(found.index);
    look = changed(look, found[1] ?? '');
    from = found.index + found[0].length;
  }
  add(kept.length);
  return parts;
}

/** The parts of a line, cut where a text is found in it; letter case is ignored. */
export function markedText(line: string, query: string): (IStyledText & { mark: boolean })[] {
  const parts = styledText(line);
  const whole = parts.map(part => part.text).join('');
  // Lower case may have another length: then nothing is marked.
  const lower = whole.toLowerCase().length === whole.length ? whole.toLowerCase() : '';
  const needle = query.toLowerCase();
  const marked: (IStyledText & { mark: boolean })[] = [];
  let begin = 0;
  let next = needle === '' ? -1 : lower.indexOf(needle);
  for (const { text, className } of parts) {
    let at = 0;
    while (at < text.length) {
      const here = begin + at;
      while (next >= 0 && next + needle.length <= here) {
        next = lower.indexOf(needle, next + needle.length);
      }
      const mark = next >= 0 && next <= here;
      const until = mark ? next + needle.length : next >= 0 ? next : Infinity;
      const end = Math.min(text.length, until - begin);
      marked.push({ text: text.slice(at, end), className, mark });
      at = end;
    }
    begin += text.length;
  }
  return marked;
}

function changed(look: ILook, codes: string): ILook {
  // With colons the parts of one colour stay together: `38:5:196`.
  const numbers = codes.split(/[;:]/).map(Number);
  let next = { ...look };
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      const [color, length] = extended(numbers.slice(at + 1), codes.includes(':'));
      next = code === 38 ? { ...next, front: color } : { ...next, back: color };
      at += length;
    } else {
      next = { ...next, ...effectOf(code) };
    }
  }
  return next;
}

const EFFECTS: ReadonlyMap<number, Partial<ILook>> = new Map<number, Partial<ILook>>([
  [0, PLAIN],
  [1, { bold: true }],
  [2, { dim: true }],
  [3, { italic: true }],
  [4, { underline: true }],
  [7, { inverse: true }],
  [9, { strike: true }],
  [22, { bold: false, dim: false }],
  [23, { italic: false }],
  [24, { underline: false }],
  [27, { inverse: false }],
  [29, { strike: false }],
  [39, { front: null }],
  [49, { back: null }]
]);

function effectOf(code: number): Partial<ILook> {
  const effect = EFFECTS.get(code);
  if (effect !== undefined) {
    return effect;
  }
  for (const [first, color] of [
    [30, 0],
    [90, 8]
  ] as const) {
    if (code >= first && code < first + 8) {
      return { front: code - first + color };
    }
    if (code >= first + 10 && code < first + 18) {
      return { back: code - first - 10 + color };
    }
  }
  return {};
}

/** The colour behind 38 or 48 as one of the sixteen, and how many numbers it takes. */
function extended(numbers: readonly number[], colons: boolean): [number | null, number] {
  if (numbers[0] === 5) {
    return [nearest256(numbers[1] ?? 0), 2];
  }
  if (numbers[0] === 2) {
    // With colons there may be a colour space before the three numbers, often empty.
    const skip = colons && numbers.length > 4 ? 1 : 0;
    const [red = 0, green = 0, blue = 0] = numbers.slice(1 + skip);
    return [nearest(red, green, blue), 4 + skip];
  }
  return [null, 0];
}

function nearest256(number: number): number {
  if (number < 16) {
    return Math.max(0, number);
  }
  if (number >= 232) {
    const grey = 8 + 10 * (number - 232);
    return nearest(grey, grey, grey);
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + 40 * n);
  const at = number - 16;
  return nearest(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

/** The hue and the lightness decide: which of red, green and blue are strong, and how strong. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 40) {
    return [0, 8, 7, 15][Math.min(3, Math.floor(most / 64))] ?? 7;
  }
  const strong = (part: number, bit: number): number => (part > (most + least) / 2 ? bit : 0);
  return strong(red, 1) + strong(green, 2) + strong(blue, 4) + (most > 200 ? 8 : 0);
}

function classOf(look: ILook): string {
  const [front, back] = look.inverse ? [look.back, look.front] : [look.front, look.back];
  const names = (['bold', 'dim', 'italic', 'underline', 'strike'] as const).filter(each => look[each]);
  const classes: string[] = names.map(each => `hai-mod-${each}`);
  if (front !== null) {
    classes.push(`hai-mod-front-${nameOf(front)}`);
  }
  if (back !== null) {
    classes.push(`hai-mod-back-${nameOf(back)}`);
  } else if (look.inverse) {
    classes.push('hai-mod-inverse');
  }
  return classes.join(' ');
}

function nameOf(color: number): string {
  const name = NAMES[color % 8] ?? 'white';
  return color < 8 ? name : `bright-${name}`;
}
