/** The part of Markdown that runbooks are written in, as blocks that a view draws. Pure functions. */

/** A piece of a line; `to`: where a link leads, as it is written. */
export interface IPiece {
  kind: 'text' | 'code' | 'emphasis' | 'link';
  text: string;
  to?: string;
}

export type Block =
  | { kind: 'heading'; level: number; pieces: IPiece[] }
  | { kind: 'paragraph'; pieces: IPiece[] }
  | { kind: 'code'; text: string }
  | { kind: 'list'; items: IPiece[][] };

const INLINE = /`([^`]+)`|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)]+)\)/g;

/** A line with code, emphasis and links. */
export function piecesOf(line: string): IPiece[] {
  const pieces: IPiece[] = [];
  let from = 0;
  const plain = (to: number): void => {
    if (to > from) {
      pieces.push({ kind: 'text', text: line.slice(from, to) });
    }
  };
  for (const found of line.matchAll(INLINE)) {
    const [whole, code, emphasis, label, to] = found;
    plain(found.index);
    if (code !== undefined) {
      pieces.push({ kind: 'code', text: code });
    } else if (emphasis !== undefined) {
      pieces.push({ kind: 'emphasis', text: emphasis });
    } else {
      pieces.push({ kind: 'link', text: label ?? '', to: to ?? '' });
    }
    from = found.index + whole.length;
  }
  plain(line.length);
  return pieces;
}

/** A text as headings, paragraphs, lists and code. */
export function blocksOf(text: string): Block[] {
  return text.split(/^(```[^]*?^```)$/m).flatMap(part =>
    part.startsWith('```')
      ? [{ kind: 'code' as const, text: part.replace(/^```.*\n|\n?```$/g, '') }]
      : part
          .split(/\n\s*\n/)
          .map(each => each.trim())
          .filter(each => each !== '')
          .map(blockOf)
  );
}

function blockOf(text: string): Block {
  const heading = /^(#+) (.*)$/.exec(text);
  if (heading) {
    return { kind: 'heading', level: heading[1]?.length ?? 1, pieces: piecesOf(heading[2] ?? '') };
  }
  const joined = (lines: string): string => lines.replace(/\s*\n\s*/g, ' ').trim();
  if (text.startsWith('- ')) {
    const items = `\n${text}`.split('\n- ').slice(1);
    return { kind: 'list', items: items.map(item => piecesOf(joined(item))) };
  }
  return { kind: 'paragraph', pieces: piecesOf(joined(text)) };
}
