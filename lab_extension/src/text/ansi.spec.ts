import { describe, expect, it } from 'vitest';
import { markedText, styledText } from './ansi';
import { plainText } from './format';

const E = '\u001b[';

describe('colours of a terminal', () => {
  it.each([
    ['plain', [['plain', '']]],
    [
      `${E}31mred${E}0m and ${E}1;4;92mbright`,
      [
        ['red', 'hai-mod-front-red'],
        [' and ', ''],
        ['bright', 'hai-mod-bold hai-mod-underline hai-mod-front-bright-green']
      ]
    ],
    [
      `${E}1mb${E}22mn${E}m`,
      [
        ['b', 'hai-mod-bold'],
        ['n', '']
      ]
    ],
    [
      `${E}33;44ma${E}39mb${E}49mc`,
      [
        ['a', 'hai-mod-front-yellow hai-mod-back-blue'],
        ['b', 'hai-mod-back-blue'],
        ['c', '']
      ]
    ],
    [
      `${E}7ma${E}32mb`,
      [
        ['a', 'hai-mod-inverse'],
        ['b', 'hai-mod-back-green']
      ]
    ],
    // 256 colours and 24 bits become the nearest of the sixteen.
    [
      `${E}38;5;196ma${E}38;5;244mb${E}38;2;0;90;200mc${E}38:2::255:0:0md`,
      [
        ['a', 'hai-mod-front-bright-red'],
        ['b', 'hai-mod-front-white'],
        ['c', 'hai-mod-front-blue'],
        ['d', 'hai-mod-front-bright-red']
      ]
    ],
    [`${E}38;5;9;1mx`, [['x', 'hai-mod-bold hai-mod-front-bright-red']]],
    // Nothing else of a terminal is obeyed.
    [
      `a${E}2Kb${E}10;5Hc\u001b]0;title\u0007d\u001b]8;;https://x\u001b\\link\u001b]8;;\u001b\\`,
      [['abcdlink', '']]
    ],
    [`${E}999mx${E}38mx${E};;mx`, [['xxx', '']]],
    [`${E}31m<img src=x onerror=alert(1)>`, [['<img src=x onerror=alert(1)>', 'hai-mod-front-red']]]
  ])('%j', (line, parts) => {
    expect(styledText(line).map(part => [part.text, part.className])).toEqual(parts);
    expect(
      styledText(line)
        .map(part => part.text)
        .join('')
    ).toBe(plainText(line));
  });

  it('marks what was searched for over changes of colour', () => {
    const parts = markedText(`a Lo${E}31mss lo${E}0mss`, 'LOSS');
    expect(parts.map(part => [part.text, part.className, part.mark])).toEqual([
      ['a ', '', false],
      ['Lo', '', true],
      ['ss', 'hai-mod-front-red', true],
      [' ', 'hai-mod-front-red', false],
      ['lo', 'hai-mod-front-red', true],
      ['ss', '', true]
    ]);
    expect(markedText('aaa', 'aa').map(part => [part.text, part.mark])).toEqual([
      ['aa', true],
      ['a', false]
    ]);
    expect(markedText('abc', '').map(part => part.text)).toEqual(['abc']);
  });
});
