import { describe, expect, it } from 'vitest';
import { joinCommand, parseDuration, parseEnv, splitCommand } from './commandLine';

describe('splitCommand', () => {
  it.each([
    ['python -u train.py', ['python', '-u', 'train.py']],
    ["bash -c 'echo $HOME | wc'", ['bash', '-c', 'echo $HOME | wc']],
    ['a "b c" d\\ e', ['a', 'b c', 'd e']],
    ['say "it\'s \\"so\\"" \'\'', ['say', 'it\'s "so"', '']],
    ['  one \\\n  two\nthree ', ['one', 'two', 'three']],
    ['"a\\nb"', ['a\\nb']],
    ['', []]
  ])('reads %j as a shell does', (line, args) => {
    expect(splitCommand(line)).toEqual(args);
  });

  it('says what is wrong with an open quote or a last backslash', () => {
    expect(() => splitCommand("python 'x")).toThrow(/opened and not closed/);
    expect(() => splitCommand('python \\')).toThrow(/backslash/);
  });

  it.each([[['python', 'a b.py', "it's", '', '$x', '--lr=3e-4']], [['bash', '-c', 'echo "hi" \\ there\n']]])(
    'reads back what joinCommand writes: %j',
    args => {
      expect(splitCommand(joinCommand(args))).toEqual(args);
    }
  );

  it('leaves plain arguments without quotes', () => {
    expect(joinCommand(['python', '-u', './train.py', '--lr=3e-4'])).toBe('python -u ./train.py --lr=3e-4');
  });
});

describe('parseDuration', () => {
  it.each([
    ['90', 90],
    ['2m', 120],
    ['1h 30min', 5400],
    ['1.5 h', 5400],
    ['1d2h', 93_600]
  ])('reads %s', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each(['', 'soon', '5 weeks', '-3', '2m or so'])('refuses %j', text => {
    expect(() => parseDuration(text)).toThrow(/1h 30m/);
  });
});

describe('parseEnv', () => {
  it('reads a line each and keeps everything after the first =', () => {
    expect(parseEnv('A=1\n\nexport B_2=x=y z\nC=')).toEqual({ A: '1', B_2: 'x=y z', C: '' });
  });

  it('names the line that is wrong', () => {
    expect(() => parseEnv('A=1\noops')).toThrow('“oops” is not of the form KEY=value.');
  });
});
