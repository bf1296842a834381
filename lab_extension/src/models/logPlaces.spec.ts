import { describe, expect, it } from 'vitest';
import { LogPlaces } from './logPlaces';

describe('places in a log', () => {
  const places = new LogPlaces([
    { run: 1, start: 100, end: 300 },
    { run: 3, start: 0, end: 50 }
  ]);

  it.each([
    ['1:start', 0],
    ['1:100', 0],
    ['1:250', 150],
    ['2:start', 200],
    ['3:start', 200],
    ['3:20', 220],
    ['4:start', 250],
    ['3:9999', 250]
  ])('%s is behind %i bytes', (cursor, bytes) => {
    expect(places.before(cursor)).toBe(bytes);
  });

  it.each([
    [-5, '1:start'],
    [0, '1:start'],
    [150, '1:250'],
    [200, '3:start'],
    [220, '3:20'],
    [9999, '3:50']
  ])('behind %i bytes is %s', (bytes, cursor) => {
    expect(places.at(bytes)).toBe(cursor);
  });

  it('grows with the lines that come', () => {
    expect(places.upTo('3:80').size).toBe(280);
    expect(places.upTo('3:40')).toBe(places);
    expect([places.has(3), places.has(2), new LogPlaces().isEmpty]).toEqual([true, false, true]);
  });
});
