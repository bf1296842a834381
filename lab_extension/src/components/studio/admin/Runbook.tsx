/** What to do when an alarm is in force: the runbook of its name, which comes with Studio. */

import type { JSX } from 'react';
import { blocksOf, type Block, type IPiece } from '../../../text/markdown';
import { runbookOf } from '../../../text/runbook';
import { trans } from '../../../text/translate';
import { Notice } from '../../react';
import { Link } from '../router';

/** A link to a runbook. */
export function RunbookLink(props: { name: string; children: string }): JSX.Element {
  return <Link to={{ page: 'health', query: { runbook: props.name } }}>{props.children}</Link>;
}

/** The runbook of that name, or that there is none. */
export function Runbook({ name }: { name: string }): JSX.Element {
  const found = runbookOf(name);
  return (
    <>
      <p className="hai-Crumbs">
        <Link to={{ page: 'health' }}>{trans.__('Health')}</Link> / {name}
      </p>
      {found === null ? (
        <Notice kind="error">{trans.__('No runbook is called “%1”: Health lists them all.', name)}</Notice>
      ) : (
        <article className="hai-Runbook" lang={found.lang} data-testid="hai-runbook">
          {blocksOf(found.text).map((block, at) => (
            <Shown key={at} block={block} />
          ))}
        </article>
      )}
    </>
  );
}

function Shown({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    case 'heading': {
      const Heading = block.level === 1 ? 'h1' : 'h2';
      return (
        <Heading>
          <Pieces pieces={block.pieces} />
        </Heading>
      );
    }
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'list':
      return (
        <ul>
          {block.items.map((pieces, at) => (
            <li key={at}>
              <Pieces pieces={pieces} />
            </li>
          ))}
        </ul>
      );
    case 'paragraph':
      return (
        <p>
          <Pieces pieces={block.pieces} />
        </p>
      );
  }
}

function Pieces({ pieces }: { pieces: readonly IPiece[] }): JSX.Element {
  return <>{pieces.map((piece, at) => shown(piece, at))}</>;
}

function shown(piece: IPiece, key: number): JSX.Element | string {
  switch (piece.kind) {
    case 'text':
      return piece.text;
    case 'code':
      return <code key={key}>{piece.text}</code>;
    case 'emphasis':
      return <em key={key}>{piece.text}</em>;
    case 'link': {
      const to = piece.to ?? '';
      const other = /^(Hai\w+)\.md$/.exec(to)?.[1];
      return other === undefined ? (
        // A page of the documentation, which is not on the platform.
        <span key={key}>
          {piece.text} <span className="hai-Soft">({to.replace(/^\.\.\//, 'docs/')})</span>
        </span>
      ) : (
        <RunbookLink key={key} name={other}>
          {piece.text}
        </RunbookLink>
      );
    }
  }
}
