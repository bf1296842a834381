/** The log of a task: one rank at a time, live, with search over all. */

import { useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { ILogHits } from '../../api/types';
import { moment } from '../../text/format';
import { count } from '../../text/words';
import type { LogModel, LogStatus } from '../../models/log';
import { Notice, useSignal } from '../react';
import { Icon, type IconName } from '../icons';
import { Select } from '../Select';
import { trans } from '../../text/translate';
import { Sentence } from '../Sentence';
import { LogLines, Text } from './LogLines';

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
  const [large, setLarge] = useState(false);
  // The hit that was gone to, by its place among the hits that are shown.
  const [hit, setHit] = useState<number | null>(null);
  const go = (to: number): void => {
    const line = hits?.lines[to];
    if (line) {
      setHit(to);
      void model.jump(line.cursor, line.rank ?? model.rank);
    }
  };
  const search = async (text: string): Promise<void> => {
    if (text !== '' && text === query && hits !== null && hits.lines.length > 0) {
      go(hit === null ? 0 : (hit + 1) % hits.lines.length);
      return;
    }
    setQuery(text);
    setHit(null);
    setSearchError(null);
    setHits(null);
    if (text !== '') {
      await model.search(text).then(setHits, (error: unknown) => setSearchError(sentenceOf(error)));
    }
  };
  return (
    <section
      className={large ? 'hai-LogView hai-mod-large' : 'hai-LogView'}
      aria-label={trans.__('Log')}
      onKeyDown={event => {
        if (large && event.key === 'Escape' && !event.defaultPrevented) {
          setLarge(false);
        }
      }}
    >
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
        <a
          className="hai-IconButton"
          href={model.downloadUrl(times)}
          download
          aria-label={trans.__('Download the whole log of rank %1', model.rank)}
          title={trans.__('Download the whole log of rank %1', model.rank)}
          data-testid="hai-log-download"
        >
          <Icon name="download" />
        </a>
        <IconButton
          icon={large ? 'shrink' : 'enlarge'}
          label={large ? trans.__('Smaller') : trans.__('Enlarge')}
          testid="hai-log-enlarge"
          onClick={() => setLarge(!large)}
        />
      </header>
      {searchError !== null && <Notice kind="error">{searchError}</Notice>}
      {hits !== null && (
        <Hits hits={hits} query={query} model={model} hit={hit} onGo={go} onClose={() => void search('')} />
      )}
      {model.error !== null && (model.lineCount === 0 || model.status === 'idle') && (
        <Notice kind="error">{model.error}</Notice>
      )}
      <LogLines key={model.rank} model={model} query={query} times={times} />
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

function IconButton(props: {
  icon: IconName;
  label: string;
  testid: string;
  disabled?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button
      className="hai-IconButton"
      aria-label={props.label}
      title={props.label}
      data-testid={props.testid}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

function Hits(props: {
  hits: ILogHits;
  query: string;
  model: LogModel;
  hit: number | null;
  onGo: (hit: number) => void;
  onClose: () => void;
}): JSX.Element {
  const { hits, query, model, hit, onGo } = props;
  const shown = hits.lines.length;
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
        {shown > 0 && (
          <>
            <span className="hai-Soft" role="status" data-testid="hai-log-hit">
              {hit === null
                ? total > shown && trans.__('the first %1', shown)
                : trans.__('%1 of %2', hit + 1, shown)}
            </span>
            <IconButton
              icon="up"
              label={trans.__('The hit before')}
              testid="hai-log-hit-before"
              onClick={() => onGo(hit === null ? shown - 1 : (hit + shown - 1) % shown)}
            />
            <IconButton
              icon="down"
              label={trans.__('The next hit')}
              testid="hai-log-hit-next"
              onClick={() => onGo(hit === null ? 0 : (hit + 1) % shown)}
            />
          </>
        )}
        <button className="hai-Link" onClick={props.onClose}>
          {trans.__('Close')}
        </button>
      </div>
      {!hits.complete && (
        <p className="hai-Soft">{trans.__('The log is so long that only a part of it was searched.')}</p>
      )}
      {shown > 0 && (
        <ol className="hai-Hits-lines" tabIndex={0} aria-label={trans.__('Hits')}>
          {hits.lines.map((line, index) => (
            <li key={index}>
              <button
                className="hai-Hits-line"
                aria-current={index === hit}
                title={trans.__('Show the lines around it')}
                onClick={() => onGo(index)}
              >
                <span className="hai-Soft">
                  {trans.__('run %1', line.run)}
                  {line.rank !== null && ` · ${trans.__('rank %1', line.rank)}`}
                  {line.at !== null && ` · ${moment(line.at)}`}
                </span>
                <code>
                  <Text line={line.text} query={query} />
                </code>
              </button>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
