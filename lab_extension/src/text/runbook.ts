/** The runbook of an alarm in the user's language, else in English. */

import ENGLISH from './runbooks/en.json';
import CHINESE from './runbooks/zh_CN.json';
import { language } from './translate';

/** The runbooks by their languages, as tags, and their names, as Markdown. `make reference` writes them from docs/runbooks. */
export const RUNBOOKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  en: ENGLISH,
  'zh-CN': CHINESE
};

/** The names of all runbooks, which are those of alerts. */
export const RUNBOOK_NAMES: readonly string[] = Object.keys(ENGLISH);

/** Its text as Markdown, and the language that it is in; null: there is none of that name. */
export function runbookOf(name: string): { text: string; lang: string } | null {
  const translated = RUNBOOKS[language()];
  const texts: Readonly<Record<string, string>> = translated ?? ENGLISH;
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
  return text === undefined ? null : { text, lang: translated ? language() : 'en' };
}
