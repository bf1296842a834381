import { describe, expect, it } from 'vitest';
import { blocksOf, piecesOf } from './markdown';
import { RUNBOOKS } from './runbook';

const HEADINGS: Record<string, string[]> = {
  en: ['What it means', 'Where to look', 'What to do'],
  'zh-CN': ['含义', '在哪里查看', '处理方法']
};

describe('a runbook', () => {
  it('is headings, paragraphs, lists and code', () => {
    const text =
      '# Name\n\nOne\nline.\n\n```\n# a comment\n\n- no list\n```\n\n- first\n  of two\n- `second`\n';
    expect(blocksOf(text)).toEqual([
      { kind: 'heading', level: 1, pieces: [{ kind: 'text', text: 'Name' }] },
      { kind: 'paragraph', pieces: [{ kind: 'text', text: 'One line.' }] },
      { kind: 'code', text: '# a comment\n\n- no list' },
      { kind: 'list', items: [[{ kind: 'text', text: 'first of two' }], [{ kind: 'code', text: 'second' }]] }
    ]);
  });

  it('has code, emphasis and links in its lines', () => {
    expect(piecesOf('*It*: `a * b` of [limits](../x.md#y), 2 * 3 * 4')).toEqual([
      { kind: 'emphasis', text: 'It' },
      { kind: 'text', text: ': ' },
      { kind: 'code', text: 'a * b' },
      { kind: 'text', text: ' of ' },
      { kind: 'link', text: 'limits', to: '../x.md#y' },
      { kind: 'text', text: ', 2 * 3 * 4' }
    ]);
  });

  const all = Object.entries(RUNBOOKS).flatMap(([tag, pages]) =>
    Object.entries(pages).map(([name, text]): [string, string, string] => [tag, name, text])
  );
  const ours = RUNBOOKS.en ?? {};

  it.each(all)('in %s: %s is understood as a whole', (tag, name, text) => {
    const [first, ...rest] = blocksOf(text);
    expect(first).toEqual({ kind: 'heading', level: 1, pieces: [{ kind: 'text', text: name }] });
    const headings = rest.flatMap(block => (block.kind === 'heading' ? block.pieces : []));
    expect(headings.map(piece => piece.text)).toEqual(HEADINGS[tag]);
    const pieces = rest.flatMap(block =>
      block.kind === 'list' ? block.items.flat() : block.kind === 'paragraph' ? block.pieces : []
    );
    // Nothing of Markdown is left over, and links between runbooks lead somewhere.
    expect(pieces.filter(piece => piece.kind !== 'code' && /[`*[\]#]/.test(piece.text))).toEqual([]);
    const others = pieces.flatMap(piece => /^(Hai\w+)\.md$/.exec(piece.to ?? '')?.[1] ?? []);
    expect(others.filter(other => !(other in ours))).toEqual([]);
  });
});
