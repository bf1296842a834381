import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { IAssumption } from '../api/types';
import { takeMessages, type Messages } from '../page/languages';
import { assumptionText } from './assumptions';
import { takeCatalogue } from './translate';

function assumption(name: string, data: Partial<IAssumption> = {}): IAssumption {
  return { name, sentence: 'As the service says it.', count: null, length_s: null, ...data };
}

describe('what figures rest on', () => {
  afterEach(() => takeCatalogue(null, 'en'));

  it('is what the service says, in English', () => {
    expect(assumptionText(assumption('work'))).toBe('As the service says it.');
  });

  it('is said in Chinese, with its numbers', () => {
    const path = 'hai_lab/locale/zh_CN/LC_MESSAGES/hai_lab.json';
    takeMessages(JSON.parse(readFileSync(path, 'utf8')) as Messages, 'zh-CN');
    expect(assumptionText(assumption('older', { count: 1200 }))).toMatch(/^1,200 个任务/);
    expect(assumptionText(assumption('start', { length_s: 90 }))).toMatch(/90|1.*30/);
    for (const name of ['work', 'now', 'users', 'lengths', 'submissions', 'leaving']) {
      expect(assumptionText(assumption(name))).toMatch(/^[^a-z]+$/);
    }
    expect(assumptionText(assumption('of a later version'))).toBe('As the service says it.');
    expect(assumptionText(assumption('constructor'))).toBe('As the service says it.');
  });
});
