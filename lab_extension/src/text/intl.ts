/**
 * Formats of Intl, each made once: to make one takes a hundred times as long as to use it, and a table writes hundreds of
 * times and numbers.
 */

import { language } from './translate';

const numbers = new Map<string, Intl.NumberFormat>();
const moments = new Map<string, Intl.DateTimeFormat>();

/** How numbers are written in the language of the interface. */
export function numberFormat(options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  return kept(
    numbers,
    `${language()} ${JSON.stringify(options)}`,
    () => new Intl.NumberFormat(language(), options)
  );
}

/** How moments are written in the language of the interface and the reader's time zone. */
export function momentFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  // A reader who travels has another zone while the page is open.
  const key = `${language()} ${new Date().getTimezoneOffset()} ${JSON.stringify(options)}`;
  return kept(moments, key, () => new Intl.DateTimeFormat(language(), options));
}

function kept<T>(formats: Map<string, T>, key: string, make: () => T): T {
  let format = formats.get(key);
  if (format === undefined) {
    format = make();
    formats.set(key, format);
  }
  return format;
}
