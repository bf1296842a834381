import { describe, expect, it } from 'vitest';
import { aTask } from '../testing/fakes';
import { askedFacts, readAsked, typedAsked } from './asked';
import type { IAskedField, Said } from './askedField';

function aField(kind: IAskedField['kind'], given: Partial<IAskedField> = {}): IAskedField {
  return {
    name: 'nodes',
    kind,
    words: [],
    least: null,
    most: null,
    default: null,
    label: () => 'Word',
    help: () => '',
    ...given
  };
}

const COUNT = aField('number', { least: 2, most: 9, default: 3 });
const PAUSE = aField('length', { most: 60 });

describe('a field that needs nothing but its definition', () => {
  it.each<[IAskedField, string, Said, string]>([
    [COUNT, ' 9 ', 9, '9'],
    [COUNT, '', 3, ''],
    [aField('number', { least: 1 }), '', null, ''],
    [PAUSE, '1m', 60, '60s'],
    [PAUSE, '', null, ''],
    [aField('flag', { default: false }), 'on', true, 'true'],
    [aField('flag', { default: false }), '', false, ''],
    [aField('text'), 'a b', 'a b', 'a b'],
    [aField('word', { words: ['round', 'flat'], default: 'round' }), 'flat', 'flat', 'flat']
  ])('%#: what is typed is its value, and typed again', (field, typed, value, again) => {
    expect(readAsked(field, typed)).toBe(value);
    expect(typedAsked(field, value)).toBe(again);
  });

  it.each<[IAskedField, string, RegExp]>([
    [COUNT, '1', /whole number up to 9/],
    [COUNT, '10', /whole number up to 9/],
    [COUNT, 'x', /whole number/],
    [PAUSE, '2m', /up to 1 min/]
  ])('%#: what is wrong is said with what is right', (field, typed, said) => {
    expect(() => readAsked(field, typed)).toThrow(said);
  });

  it('is shown where it says something, and always where tasks are compared', () => {
    const task = aTask({ nodes: 3 });
    expect(askedFacts(task, { fields: [COUNT] })).toEqual([]);
    expect(askedFacts(task, { fields: [COUNT], all: true })).toEqual([['Word', '3']]);
    const other = aTask({ nodes: 90 });
    expect(askedFacts(other, { fields: [{ ...PAUSE, name: 'nodes' }] })).toEqual([['Word', '1 min 30 s']]);
  });
});
