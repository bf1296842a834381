/** The lines of a log, in a list that can be scrolled from the first line to the last one. */

import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState, type JSX } from 'react';
import { markedText } from '../../text/ansi';
import { localLogTimes, moment } from '../../text/format';
import type { LogModel } from '../../models/log';
import type { IChunk, INumberedLine } from '../../models/logWindow';
import { trans } from '../../text/translate';

/** Most pixels between the view and the end at which new lines are followed. */
const NEAR = 24;
/** How near to the lines that are not held the view must be, for these to be read, in pixels. */
const AHEAD = 800;
/** Wait before lines far away are read, in ms: the reader may still be moving the scroll bar. */
const SETTLE = 150;
/** The most pixels of what is not held: browsers have a limit for the height of an element. */
const MOST_PIXELS = 3_000_000;

export function LogLines(props: { model: LogModel; query: string; times: boolean }): JSX.Element {
  const { model, query, times } = props;
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  // Pixels for a byte that is not held; found when lines are measured for the first time.
  const [scale, setScale] = useState(0);
  // Set by our own scrolling, so that its event is not taken for the reader's.
  const lastTop = useRef(0);
  // The line at the top of the view, which stays there when lines are added or dropped above it.
  const anchor = useRef<{ key: number; offset: number } | null>(null);
  const shownTarget = useRef<number | null>(null);
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lines = model.lineCount;
  const { chunks, target } = model;
  const { before, held, behind } = model.bytes;

  const scrollTo = useCallback((top: number) => {
    const node = box.current;
    if (node) {
      node.scrollTop = top;
      lastTop.current = node.scrollTop;
    }
  }, []);
  const toEnd = useCallback(() => scrollTo(box.current?.scrollHeight ?? 0), [scrollTo]);
  const remember = useCallback(() => {
    const node = box.current;
    const line = node && content.current ? lineAt(content.current, node.scrollTop) : undefined;
    anchor.current =
      node && line ? { key: Number(line.dataset.key), offset: line.offsetTop - node.scrollTop } : null;
  }, []);
  const follow = useCallback(
    (on: boolean): void => {
      setFollowing(on);
      model.setHold(!on);
    },
    [model]
  );
  useEffect(() => model.setHold(!following), [following, model]);

  /** Read what the view has come near to. */
  const look = useCallback(() => {
    const node = box.current;
    const part = content.current;
    if (!node || !part) {
      return;
    }
    const [top, bottom] = [node.scrollTop, node.scrollTop + node.clientHeight];
    const [first, last] = [part.offsetTop, part.offsetTop + part.offsetHeight];
    clearTimeout(settling.current);
    if (scale > 0 && (bottom < first || top > last)) {
      settling.current = setTimeout(() => {
        if (bottom >= node.scrollHeight - NEAR) {
          follow(true);
          model.open();
        } else {
          void model.jumpTo(bottom < first ? top / scale : before + held + (top - last) / scale);
        }
      }, SETTLE);
    } else if (top - first < AHEAD && !model.atStart) {
      void model.earlier();
    } else if (last - bottom < AHEAD && !model.atEnd) {
      void model.later();
    }
  }, [before, follow, held, model, scale]);
  useEffect(() => () => clearTimeout(settling.current), []);

  useLayoutEffect(() => {
    const height = content.current?.offsetHeight ?? 0;
    if (scale === 0 && height > 0 && held > 0 && before + behind > 0) {
      setScale(Math.min(height / held, MOST_PIXELS / (before + held + behind)));
    }
  }, [before, behind, held, scale]);
  useLayoutEffect(() => {
    const part = content.current;
    if (!part) {
      return;
    }
    if (target !== shownTarget.current) {
      shownTarget.current = target;
      const line = target === null ? null : lineOf(part, target);
      if (line) {
        follow(false);
        scrollTo(line.offsetTop - (box.current?.clientHeight ?? 0) / 2);
        remember();
      }
    } else if (following) {
      toEnd();
    } else if (anchor.current !== null) {
      const line = lineOf(part, anchor.current.key);
      scrollTo(line ? line.offsetTop - anchor.current.offset : part.offsetTop);
      remember();
    }
  }, [before, behind, chunks, follow, following, remember, scale, scrollTo, target, times, toEnd]);
  useEffect(() => {
    if (!following) {
      look();
    }
  }, [chunks, following, look]);
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

  const handleScroll = (): void => {
    const node = box.current;
    if (!node || Math.abs(node.scrollTop - lastTop.current) < 1) {
      return;
    }
    const atEnd = model.atEnd && node.scrollHeight - node.scrollTop - node.clientHeight <= NEAR;
    const up = node.scrollTop < lastTop.current - 2;
    lastTop.current = node.scrollTop;
    remember();
    if (atEnd && !following) {
      follow(true);
    } else if (!atEnd && up && following) {
      follow(false);
    } else if (!following) {
      look();
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
        aria-busy={model.status === 'loading'}
        tabIndex={0}
        onScroll={handleScroll}
      >
        <div style={{ height: before * scale }} />
        <div ref={content}>
          {chunks.map(chunk => (
            <Chunk
              key={chunk.key}
              chunk={chunk}
              query={query}
              times={times}
              target={target !== null && holds(chunk, target) ? target : null}
            />
          ))}
        </div>
        <div style={{ height: behind * scale }} />
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
          onClick={() => {
            if (!model.atEnd) {
              model.open();
            }
            follow(true);
          }}
        >
          {model.complete ? trans.__('↓ End') : trans.__('↓ Follow')}
        </button>
      )}
    </div>
  );
}

/** The first line that can be seen. */
function lineAt(content: HTMLElement, top: number): HTMLElement | undefined {
  const chunk = firstBelow(content.children, top);
  return chunk && firstBelow(chunk.children, top);
}

function firstBelow(elements: HTMLCollection, top: number): HTMLElement | undefined {
  return (Array.from(elements) as HTMLElement[]).find(each => each.offsetTop + each.offsetHeight > top);
}

function lineOf(content: HTMLElement, key: number): HTMLElement | null {
  return content.querySelector(`[data-key="${key}"]`);
}

function holds(chunk: IChunk, key: number): boolean {
  return key >= chunk.key && key < chunk.key + chunk.lines.length;
}

const Chunk = memo(function Chunk(props: {
  chunk: IChunk;
  query: string;
  times: boolean;
  target: number | null;
}): JSX.Element {
  const { chunk, query, times, target } = props;
  return (
    <div>
      {chunk.lines.map(line => (
        <Line key={line.key} line={line} query={query} times={times} target={line.key === target} />
      ))}
    </div>
  );
});

const Line = memo(function Line(props: {
  line: INumberedLine;
  query: string;
  times: boolean;
  target: boolean;
}): JSX.Element {
  const { line, query, times, target } = props;
  const own = line.rank === null || line.text.startsWith('[hai]');
  const text = own && line.at !== null ? localLogTimes(line.text, line.at) : line.text;
  const classes = [
    'hai-Log-line',
    ...(line.rank === null ? ['hai-mod-platform'] : []),
    ...(target ? ['hai-mod-target'] : [])
  ];
  return (
    <div
      className={classes.join(' ')}
      data-key={line.key}
      {...(text === line.text ? {} : { title: line.text })}
      {...(target ? { 'aria-current': true } : {})}
    >
      {times && line.at !== null && (
        <time className="hai-Log-time" dateTime={line.at} title={utc(line.at)}>
          {moment(line.at)}
        </time>
      )}
      <Text line={text} query={query} />
    </div>
  );
});

/** A line of a log in its colours, with what was searched for marked. */
export function Text({ line, query }: { line: string; query: string }): JSX.Element {
  if (query === '' && !line.includes('\u001b')) {
    return <>{line}</>;
  }
  return (
    <>
      {markedText(line, query).map((part, index) => {
        const Tag = part.mark ? 'mark' : 'span';
        return part.mark || part.className !== '' ? (
          <Tag key={index} className={part.className}>
            {part.text}
          </Tag>
        ) : (
          part.text
        );
      })}
    </>
  );
}

function utc(at: string): string {
  return `${new Date(at).toISOString().slice(0, 23).replace('T', ' ')} UTC`;
}
