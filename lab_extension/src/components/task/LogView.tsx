/** The log of a task: one rank at a time, live, with search over all. */

import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { ILogHits } from '../../api/types';
import { moment, plainText } from '../../text/format';
import { count, numberText } from '../../text/words';
import type { IChunk, INumberedLine, LogModel, LogStatus } from '../../models/log';
import { Notice, useSignal } from '../react';
import { Icon } from '../icons';
import { Select } from '../Select';
import { trans } from '../../text/translate';
import { Sentence } from '../Sentence';

/** Most pixels between the view and the end at which new lines are followed. */
const NEAR = 24;
/** The most lines that "Show earlier lines" asks for; the service gives no more at once. */
const MOST_LINES = 10_000;

const STATUS_WORDS: Record<LogStatus, () => string> = {
  idle: () => trans.__('Paused'),
  loading: () => trans.__('Loading…'),
  live: () => trans.__('Live'),
  ended: () => trans.__('Complete'),
  lost: () => trans.__('Connection lost, trying again…')
};

export function LogView(props: { model: LogModel; ranks: number }): JSX.Element {
  const { model, ranks } = props;
  useSignal(model.changed);
  const [query, setQuery] = useState('');
  const [hits, setHits] = useState<ILogHits | null>(null);
  const [searchError, setSearchError] = useState<string | null>(null);
  const [times, setTimes] = useState(false);
  const search = async (text: string): Promise<void> => {
    setQuery(text);
    setSearchError(null);
    setHits(null);
    if (text !== '') {
      await model.search(text).then(setHits, (error: unknown) => setSearchError(sentenceOf(error)));
    }
  };
  return (
    <section className="hai-LogView" aria-label={trans.__('Log')}>
      <header className="hai-LogView-header">
        <h3>{trans.__('Log')}</h3>
        {ranks > 1 && (
          <Select
            className="hai-Select hai-mod-small"
            aria-label={trans.__('Rank')}
            data-testid="hai-log-rank"
            value={String(model.rank)}
            onChange={event => model.open(Number(event.target.value))}
            options={Array.from({ length: ranks }, (_, rank) => ({
              value: String(rank),
              label: trans.__('Rank %1', rank)
            }))}
          />
        )}
        <span
          className={`hai-LogStatus hai-mod-${model.status}`}
          data-testid="hai-log-status"
          role="status"
          title={model.error ?? undefined}
        >
          {STATUS_WORDS[model.status]()}
        </span>
        <span className="hai-Spacer" />
        <label className="hai-Check">
          <input type="checkbox" checked={times} onChange={event => setTimes(event.target.checked)} />
          {trans.__('Times')}
        </label>
        <SearchBox onSearch={text => void search(text)} />
      </header>
      {searchError !== null && <Notice kind="error">{searchError}</Notice>}
      {hits !== null && <Hits hits={hits} query={query} model={model} onClose={() => void search('')} />}
      {model.error !== null && model.lineCount === 0 && <Notice kind="error">{model.error}</Notice>}
      <Lines model={model} query={query} times={times} />
    </section>
  );
}

function SearchBox(props: { onSearch: (text: string) => void }): JSX.Element {
  const [text, setText] = useState('');
  return (
    <form
      className="hai-Search"
      role="search"
      onSubmit={event => {
        event.preventDefault();
        props.onSearch(text.trim());
      }}
    >
      <input
        className="jp-mod-styled"
        type="search"
        name="log-search"
        data-testid="hai-log-search"
        aria-label={trans.__('Search the log of all ranks')}
        placeholder={trans.__('Search all ranks')}
        value={text}
        onChange={event => {
          setText(event.target.value);
          if (event.target.value === '') {
            props.onSearch('');
          }
        }}
      />
      <button className="hai-IconButton" aria-label={trans.__('Search')} title={trans.__('Search')}>
        <Icon name="search" />
      </button>
    </form>
  );
}

function Hits(props: { hits: ILogHits; query: string; model: LogModel; onClose: () => void }): JSX.Element {
  const { hits, query, model } = props;
  const total = hits.counts.reduce((sum, each) => sum + each.hits, 0);
  const byRank = new Map<number, number>();
  hits.counts.forEach(each => byRank.set(each.rank, (byRank.get(each.rank) ?? 0) + each.hits));
  return (
    <div className="hai-Hits" data-testid="hai-log-hits">
      <div className="hai-Hits-sum">
        <span>
          <Sentence
            text={trans.__('%1 for “%2”')}
            values={[<b key="hits">{count(total, 'hit')}</b>, query]}
          />
          {total > 0 &&
            trans.__(
              ' in %1, %2',
              count(byRank.size, 'rank'),
              count(new Set(hits.counts.map(c => c.run)).size, 'run')
            )}
        </span>
        {[...byRank].map(([rank, n]) => (
          <button
            key={rank}
            className={`hai-Chip ${rank === model.rank ? 'hai-mod-on' : ''}`}
            title={trans.__('Show the log of rank %1', rank)}
            onClick={() => model.open(rank)}
          >
            {trans.__('rank %1: %2', rank, n)}
          </button>
        ))}
        <span className="hai-Spacer" />
        <button className="hai-Link" onClick={props.onClose}>
          {trans.__('Close')}
        </button>
      </div>
      {hits.lines.length > 0 && (
        <ol className="hai-Hits-lines">
          {hits.lines.map((line, index) => (
            <li key={index}>
              <span className="hai-Soft">
                {trans.__('run %1', line.run)}
                {line.rank !== null && ` · ${trans.__('rank %1', line.rank)}`}
                {line.at !== null && ` · ${moment(line.at)}`}
              </span>
              <code>
                <Marked text={plainText(line.text)} query={query} />
              </code>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Lines(props: { model: LogModel; query: string; times: boolean }): JSX.Element {
  const { model, query, times } = props;
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  // Set by our own scrolling, so that its event is not taken for the reader's.
  const lastTop = useRef(0);
  const lines = model.lineCount;
  const newest = model.chunks.at(-1)?.lines.at(-1)?.key ?? -1;

  const toEnd = useCallback(() => {
    const node = box.current;
    if (node) {
      node.scrollTop = node.scrollHeight;
      lastTop.current = node.scrollTop;
    }
  }, []);
  useLayoutEffect(() => {
    if (following) {
      toEnd();
    }
  }, [following, newest, lines, times, toEnd]);
  useEffect(() => {
    const node = box.current;
    if (!node || typeof ResizeObserver === 'undefined') {
      return undefined;
    }
    const observer = new ResizeObserver(() => {
      if (following) {
        toEnd();
      }
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, [following, toEnd]);

  const follow = (on: boolean): void => {
    setFollowing(on);
    model.setHold(!on);
  };
  const handleScroll = (): void => {
    const node = box.current;
    if (!node) {
      return;
    }
    const atEnd = node.scrollHeight - node.scrollTop - node.clientHeight <= NEAR;
    const up = node.scrollTop < lastTop.current - 2;
    lastTop.current = node.scrollTop;
    if (atEnd && !following) {
      follow(true);
    } else if (!atEnd && up && following) {
      follow(false);
    }
  };
  return (
    <div className="hai-LogBox">
      <div
        ref={box}
        className="hai-Log"
        data-testid="hai-log"
        data-following={following}
        role="log"
        aria-label={trans.__('Log of rank %1', model.rank)}
        aria-live="off"
        tabIndex={0}
        onScroll={handleScroll}
      >
        {model.dropped && (
          <div className="hai-Log-earlier">
            {trans._n(
              'Only the last line is shown.',
              'Only the last %2 lines are shown.',
              lines,
              numberText(lines)
            )}{' '}
            {model.limit < MOST_LINES && (
              <button
                className="hai-Link"
                onClick={() => model.setLimit(Math.min(MOST_LINES, model.limit * 4))}
              >
                {trans.__('Show earlier lines')}
              </button>
            )}
          </div>
        )}
        {model.chunks.map(chunk => (
          <Chunk key={chunk.key} chunk={chunk} query={query} times={times} />
        ))}
        {lines === 0 && model.status !== 'loading' && model.error === null && (
          <p className="hai-Empty">
            {model.status === 'ended'
              ? trans.__('It wrote nothing.')
              : trans.__('Nothing yet: its output shows up here at once.')}
          </p>
        )}
      </div>
      {!following && (
        <button
          className="hai-Button hai-LogBox-end"
          data-testid="hai-log-follow"
          onClick={() => follow(true)}
        >
          {trans.__('↓ Follow')}
        </button>
      )}
    </div>
  );
}

const Chunk = memo(function Chunk(props: { chunk: IChunk; query: string; times: boolean }): JSX.Element {
  return (
    <div className="hai-Log-chunk">
      {props.chunk.lines.map(line => (
        <Line key={line.key} line={line} query={props.query} times={props.times} />
      ))}
    </div>
  );
});

const Line = memo(function Line(props: { line: INumberedLine; query: string; times: boolean }): JSX.Element {
  const { line, query, times } = props;
  const text = plainText(line.text);
  return (
    <div className={line.rank === null ? 'hai-Log-line hai-mod-platform' : 'hai-Log-line'}>
      {times && line.at !== null && <span className="hai-Log-time">{moment(line.at)}</span>}
      {query === '' ? text : <Marked text={text} query={query} />}
    </div>
  );
});

function Marked(props: { text: string; query: string }): JSX.Element {
  const { text, query } = props;
  const parts: (string | JSX.Element)[] = [];
  const lower = text.toLowerCase();
  const needle = query.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(needle); needle !== '' && at >= 0; at = lower.indexOf(needle, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + needle.length)}</mark>);
    from = at + needle.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}
