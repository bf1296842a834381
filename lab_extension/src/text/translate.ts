/**
 * The texts of the interface in the user's language. English texts are the keys, as in all of Jupyter; each shell gives the
 * catalogue: JupyterLab its translator's, the page the same files.
 */

/** What a catalogue can do; JupyterLab's TranslationBundle is one. Placeholders are %1, %2 and so on. */
export interface ICatalogue {
  /** A text. */
  __(text: string, ...values: (string | number)[]): string;
  /** A text that depends on a number, which is %1. */
  _n(one: string, many: string, n: number, ...values: (string | number)[]): string;
  /** A text whose English is one word with two meanings; the context tells which. */
  _p(context: string, text: string, ...values: (string | number)[]): string;
}

/** Put values into the places %1, %2 and so on. */
export function fill(text: string, values: readonly (string | number)[]): string {
  return text.replace(/%(\d+)/g, (whole, place: string) => {
    const value = values[Number(place) - 1];
    return value === undefined ? whole : String(value);
  });
}

const ENGLISH: ICatalogue = {
  __: (text, ...values) => fill(text, values),
  _n: (one, many, n, ...values) => fill(n === 1 ? one : many, [n, ...values]),
  _p: (_, text, ...values) => fill(text, values)
};

let catalogue = ENGLISH;
let languageTag = 'en';

/** Use a catalogue from now on. `tag` is a language tag such as `zh-CN`, for dates and numbers. Call it before anything is drawn. */
export function takeCatalogue(given: ICatalogue | null, tag: string): void {
  catalogue = given ?? ENGLISH;
  languageTag = tag;
}

/** The language of the interface, for Intl. */
export function language(): string {
  return languageTag;
}

/** Whether the language of the interface is that of the code. */
export function isEnglish(): boolean {
  return languageTag.split('-')[0] === 'en';
}

/** The texts. It may only be asked while something is drawn, never when a module is loaded: no catalogue is known then. */
export const trans: ICatalogue = {
  __: (text, ...values) => catalogue.__(text, ...values),
  _n: (one, many, n, ...values) => catalogue._n(one, many, n, ...values),
  _p: (context, text, ...values) => catalogue._p(context, text, ...values)
};
