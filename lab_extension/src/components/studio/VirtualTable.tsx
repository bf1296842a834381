/** A table of any length: only the rows that can be seen are in the document. All rows are equally high. */

import { memo, useEffect, useLayoutEffect, useRef, useState, type JSX, type ReactNode } from 'react';
import { trans } from '../../text/translate';

/** The height of a row in pixels; the style sheet has the same number. */
export const ROW = 30;
/** Rows beyond the edges that are drawn too, so that a fast scroll shows no gap. */
const BEYOND = 12;

/** The rows to draw: the first one, and the one after the last one. */
export function windowOf(scrolled: number, height: number, rows: number): [number, number] {
  const first = Math.max(0, Math.floor(scrolled / ROW) - BEYOND);
  const last = Math.min(rows, Math.ceil((scrolled + height) / ROW) + BEYOND);
  // A list that has become shorter is scrolled beyond its end for a moment.
  return [Math.min(first, last), last];
}

export interface IColumn<T> {
  id: string;
  /** The words of the head, and what is in it beside them. */
  title: string;
  head?: ReactNode;
  /** Whether rows can be sorted by it. */
  sorts?: boolean;
  /** The column is as wide as this says; a number is in pixels. */
  width: string;
  number?: boolean;
  cell: (item: T) => ReactNode;
}

export interface ITableProps<T> {
  label: string;
  columns: readonly IColumn<T>[];
  items: readonly T[];
  keyOf: (item: T) => number | string;
  /** The column and whether the greatest comes first. */
  sort: { by: string; down: boolean } | null;
  onSort: (by: string) => void;
  /** How many rows there are, where only the first ones were read; they are drawn as a gap. */
  total?: number;
  /** The row after the last one that can be seen, each time when that changes. */
  onNeed?: (row: number) => void;
  /** With another text the table is at its first row again: other rows, or another order. */
  topWhen?: string;
  /** Rows that are marked. */
  selected: ReadonlySet<number | string>;
  testId: string;
}

export function VirtualTable<T>(props: ITableProps<T>): JSX.Element {
  const { columns, items, onNeed } = props;
  const total = Math.max(props.total ?? 0, items.length);
  const box = useRef<HTMLDivElement>(null);
  const [[first, last], setWindow] = useState<[number, number]>([0, 60]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) {
      return undefined;
    }
    const look = (): void => {
      const next = windowOf(element.scrollTop, element.clientHeight, total);
      setWindow(now => (now[0] === next[0] && now[1] === next[1] ? now : next));
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [total]);
  useEffect(() => onNeed?.(last), [onNeed, last]);
  useLayoutEffect(() => {
    if (box.current) {
      box.current.scrollTop = 0;
    }
  }, [props.topWhen]);
  const drawn = Math.max(first, Math.min(last, items.length));
  return (
    <div ref={box} className="hai-Virtual" tabIndex={0} role="region" aria-label={props.label}>
      <table className="hai-Table hai-Virtual-table" aria-rowcount={total + 1} data-testid={props.testId}>
        <colgroup>
          {columns.map(column => (
            <col key={column.id} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(column => (
              <Head key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} columns={columns.length} />
          {items.slice(first, last).map((item, index) => {
            const key = props.keyOf(item);
            return (
              <Row
                key={key}
                columns={columns as readonly IColumn<unknown>[]}
                item={item}
                index={first + index + 2}
                selected={props.selected.has(key)}
              />
            );
          })}
          <Gap
            rows={total - drawn}
            columns={columns.length}
            // Rows that can be seen are still on their way.
            text={last > items.length ? trans.__('Loading…') : ''}
          />
        </tbody>
      </table>
    </div>
  );
}

/** A row, which is drawn again only when it has changed: a scroll draws those alone that come into sight. */
const Row = memo(function RowOf(props: {
  columns: readonly IColumn<unknown>[];
  item: unknown;
  index: number;
  selected: boolean;
}): JSX.Element {
  return (
    <tr aria-rowindex={props.index} {...(props.selected ? { className: 'hai-mod-selected' } : {})}>
      {props.columns.map(column => (
        <td key={column.id} {...(column.number === true ? { className: 'hai-mod-number' } : {})}>
          {column.cell(props.item)}
        </td>
      ))}
    </tr>
  );
});

/** The rows that are not drawn. */
function Gap(props: { rows: number; columns: number; text?: string }): JSX.Element | null {
  return props.rows === 0 ? null : (
    <tr aria-hidden="true">
      <td colSpan={props.columns} className="hai-Virtual-gap" style={{ height: `${props.rows * ROW}px` }}>
        {props.text !== '' && <span className="hai-Virtual-loading">{props.text}</span>}
      </td>
    </tr>
  );
}

function Head<T>(props: {
  column: IColumn<T>;
  sort: ITableProps<T>['sort'];
  onSort: (by: string) => void;
}): JSX.Element {
  const { column, sort } = props;
  const sorted = sort?.by === column.id ? (sort.down ? 'descending' : 'ascending') : undefined;
  return (
    <th
      scope="col"
      {...(sorted ? { 'aria-sort': sorted } : {})}
      {...(column.number === true ? { className: 'hai-mod-number' } : {})}
    >
      {column.head ??
        (column.sorts === true ? (
          <button
            className="hai-Virtual-sort"
            title={trans.__('Sort by %1', column.title)}
            onClick={() => props.onSort(column.id)}
          >
            {column.title}
            <span aria-hidden="true">{sorted ? (sorted === 'descending' ? ' ▾' : ' ▴') : ''}</span>
          </button>
        ) : (
          column.title
        ))}
    </th>
  );
}
