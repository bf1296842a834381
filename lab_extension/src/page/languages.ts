/** The language of the page: the user's choice, else the first of the browser's that there is. */

import { fill, takeCatalogue } from '../text/translate';

/** Where the choice is kept in the browser. */
const KEY = 'hai-language';

/** A catalogue as it is stored: the key is the text, or a context and the text; no plural forms but one, or two. */
export type Messages = Record<string, string[] | Record<string, string>>;

/** The languages of the page, with the names that their speakers use. */
// eslint-disable-next-line hai/translated -- a language is named in itself
export const NAMES: Record<string, string> = { en: 'English', 'zh-CN': '简体中文' };

/** The language to show: `kept` by the user before, else by what the browser asks for. */
export function languageFor(
  kept: string | null,
  wanted: readonly string[],
  there: readonly string[]
): string {
  const all = ['en', ...there];
  if (kept !== null && all.includes(kept)) {
    return kept;
  }
  for (const tag of wanted) {
    const found =
      all.find(each => each === tag) ?? all.find(each => each.split('-')[0] === tag.split('-')[0]);
    if (found !== undefined) {
      return found;
    }
  }
  return 'en';
}

/** Load the texts before anything is drawn. English is shown when they cannot be had. */
export async function loadLanguage(catalogues: Record<string, string>, root: HTMLElement): Promise<void> {
  const tag = languageFor(localStorage.getItem(KEY), navigator.languages, Object.keys(catalogues));
  const address = catalogues[tag];
  if (address !== undefined) {
    try {
      const response = await fetch(address);
      if (response.ok) {
        takeMessages((await response.json()) as Messages, tag);
        root.lang = tag;
        return;
      }
    } catch {
      // English says what matters too.
    }
  }
  takeCatalogue(null, 'en');
}

/** Use a catalogue from now on. */
export function takeMessages(messages: Messages, tag: string): void {
  const of = (key: string): string[] | null => {
    const found = messages[key];
    return Array.isArray(found) ? found : null;
  };
  const rule = new Intl.PluralRules(tag);
  takeCatalogue(
    {
      __: (text, ...values) => fill(of(text)?.[0] ?? text, values),
      _n: (one, many, n, ...values) => {
        const forms = of(one);
        const form = forms && forms.length > 1 && rule.select(n) !== 'one' ? 1 : 0;
        return fill(forms?.[form] ?? (n === 1 ? one : many), [n, ...values]);
      },
      _p: (context, text, ...values) => fill(of(`${context}\u0004${text}`)?.[0] ?? text, values)
    },
    tag
  );
}

/** Keep the user's choice, and show the page in it. */
export function chooseLanguage(tag: string): void {
  localStorage.setItem(KEY, tag);
  location.reload();
}
