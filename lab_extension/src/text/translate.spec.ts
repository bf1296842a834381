import { afterEach, describe, expect, it } from 'vitest';
import { fill, language, trans, takeCatalogue } from './translate';

describe('the texts', () => {
  afterEach(() => takeCatalogue(null, 'en'));

  it.each([
    ['%1 of %2', [1, 2], '1 of 2'],
    ['%2 before %1', ['a', 'b'], 'b before a'],
    ['100 %', [7], '100 %'],
    ['%1 and %3', ['a'], 'a and %3']
  ])('%s is filled with %j', (text, values, filled) => {
    expect(fill(text, values)).toBe(filled);
  });

  it('are English without a catalogue', () => {
    expect(trans.__('Submit %1', 'a.py')).toBe('Submit a.py');
    expect([1, 2].map(n => trans._n('%1 task', '%1 tasks', n))).toEqual(['1 task', '2 tasks']);
    expect(trans._p('state', 'Open')).toBe('Open');
    expect(language()).toBe('en');
  });

  it('are those of the catalogue, once there is one', () => {
    const words: Record<string, string> = { 'Submit %1': '提交 %1' };
    takeCatalogue(
      {
        __: (text, ...values) => fill(words[text] ?? text, values),
        _n: (_, many) => many,
        _p: (context, text) => `${context}/${text}`
      },
      'zh-CN'
    );
    expect([trans.__('Submit %1', 'a.py'), trans._n('a', 'b', 1), trans._p('c', 'd')]).toEqual([
      '提交 a.py',
      'b',
      'c/d'
    ]);
    expect(language()).toBe('zh-CN');
  });
});
