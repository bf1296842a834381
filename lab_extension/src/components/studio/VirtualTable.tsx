/** A table of any length: only the rows that can be seen are in the document. All rows are equally high. */

import {
  memo,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type CSSProperties,
  type JSX,
  type ReactNode
} from 'react';
import { flushSync } from 'react-dom';
import { trans } from '../../text/translate';

/** The height of a row in pixels, if the table says nothing else; the head's in the style sheet is the same. */
export const ROW = 30;
/** Rows beyond the edges that are drawn too, so that a fast scroll shows no gap. */
const BEYOND = 12;

/** A scroll by as many rows at a time is faster than anybody reads; and how long after it a reader reads again, in ms. */
const FAST = 6;
const CALM = 200;

/** The rows to draw: the first one, and the one after the last one. */
export function windowOf(scrolled: number, height: number, rows: number, row = ROW): [number, number] {
  const first = Math.max(0, Math.floor(scrolled / row) - BEYOND);
  const last = Math.min(rows, Math.ceil((scrolled + height) / row) + BEYOND);
  // A list that has become shorter is scrolled beyond its end for a moment.
  return [Math.min(first, last), last];
}

export interface IColumn<T> {
  id: string;
  /** The words of the head. */
  title: string;
  /** Whether rows can be sorted by it. */
  sorts?: boolean;
  /** The column is as wide as this says: a length, a part of the table, or `auto` for what is left. */
  width: string;
  number?: boolean;
  /** A row whose item and choice are the same is not drawn again: what else a cell depends on makes other columns. */
  cell: (item: T, selected: boolean) => ReactNode;
}

export interface ITableProps<T> {
  label: string;
  columns: readonly IColumn<T>[];
  /** What heads show in place of their titles, by column: it may change without the rows being drawn again. */
  heads?: Readonly<Record<string, ReactNode>>;
  items: readonly T[];
  keyOf: (item: T) => number | string;
  /** What is in the column `name`, as plain text: all that a row has while it flies past. */
  nameOf: (item: T) => string;
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
  /** The height of a row in pixels: more than usual for cells of several lines. */
  rowHeight?: number;
}

/**
 * Rows have places of their own instead of those that a table's layout gives them: a scroll then moves and measures none of
 * them. Elements that are not laid out as a table say by their roles that they are one.
 */
export function VirtualTable<T>(props: ITableProps<T>): JSX.Element {
  const { columns, items, onNeed, rowHeight = ROW } = props;
  const total = Math.max(props.total ?? 0, items.length);
  const box = useRef<HTMLDivElement>(null);
  const [[first, last], setWindow] = useState<[number, number]>([0, 60]);
  const [flying, setFlying] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) {
      return undefined;
    }
    const look = (): void => {
      const next = windowOf(element.scrollTop, element.clientHeight, total, rowHeight);
      setWindow(now => (now[0] === next[0] && now[1] === next[1] ? now : next));
    };
    let [top, leapt] = [element.scrollTop, -Infinity];
    let calm: ReturnType<typeof setTimeout> | undefined;
    const scrolled = (): void => {
      const now = performance.now();
      const leaps = Math.abs(element.scrollTop - top) >= FAST * rowHeight;
      // One leap is no flight: who pages reads each page.
      const flies = leaps && now - leapt < CALM;
      [top, leapt] = [element.scrollTop, leaps ? now : leapt];
      if (flies) {
        clearTimeout(calm);
        calm = setTimeout(() => setFlying(false), CALM);
      }
      // Drawn in the frame that shows the scroll, and not in the one after it.
      flushSync(() => {
        setFlying(before => before || flies);
        look();
      });
    };
    look();
    element.addEventListener('scroll', scrolled, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', scrolled);
      observer.disconnect();
      clearTimeout(calm);
      setFlying(false);
    };
  }, [total, rowHeight]);
  useEffect(() => onNeed?.(last), [onNeed, last]);
  useLayoutEffect(() => {
    if (box.current) {
      box.current.scrollTop = 0;
    }
  }, [props.topWhen]);
  const name = columns.findIndex(column => column.id === 'name') + 1;
  const template = columns.map(({ width }) => (width === 'auto' ? 'minmax(0, 1fr)' : width)).join(' ');
  return (
    <div ref={box} className="hai-Virtual" tabIndex={0} role="region" aria-label={props.label}>
      <table
        className="hai-Table hai-Virtual-table"
        role="table"
        aria-rowcount={total + 1}
        data-testid={props.testId}
        style={{ '--hai-columns': template, '--hai-row': `${rowHeight}px` } as CSSProperties}
      >
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {columns.map(column => (
              <Head
                key={column.id}
                column={column}
                shown={props.heads?.[column.id]}
                sort={props.sort}
                onSort={props.onSort}
              />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" style={{ height: `${total * rowHeight}px` }}>
          {items.slice(first, last).map((item, index) => {
            const key = props.keyOf(item);
            return (
              <Row
                key={key}
                columns={columns as readonly IColumn<unknown>[]}
                item={item}
                index={first + index}
                height={rowHeight}
                name={flying ? props.nameOf(item) : null}
                nameColumn={name}
                selected={props.selected.has(key)}
              />
            );
          })}
          {/* Rows that can be seen are still on their way. */}
          {last > items.length && <Gap first={items.length} rows={total - items.length} height={rowHeight} />}
        </tbody>
      </table>
    </div>
  );
}

interface ICells {
  columns: readonly IColumn<unknown>[];
  item: unknown;
  selected: boolean;
}

interface IRow extends ICells {
  index: number;
  height: number;
  /** Its name, if rows fly past; null: they do not. */
  name: string | null;
  /** The number of the column of the name. */
  nameColumn: number;
}

/** A row at its place. What has been drawn stays drawn; what comes into sight in flight has its name alone. */
const Row = memo(function RowOf(props: IRow): JSX.Element {
  const { columns, item, selected, index, height, name } = props;
  const [whole, setWhole] = useState(name === null);
  if (!whole && name === null) {
    setWhole(true);
  }
  return (
    <tr
      role="row"
      aria-rowindex={index + 2}
      style={{ top: `${index * height}px` }}
      {...(selected ? { className: 'hai-mod-selected' } : {})}
    >
      {whole || name === null ? (
        <Cells columns={columns} item={item} selected={selected} />
      ) : (
        <td role="cell" style={{ gridColumn: props.nameColumn }}>
          {name}
        </td>
      )}
    </tr>
  );
});

/** What is in a row, which is drawn again only when it has changed: neither a scroll nor another place draws it again. */
const Cells = memo(function CellsOf({ columns, item, selected }: ICells): JSX.Element {
  return (
    <>
      {columns.map(column => (
        <td key={column.id} role="cell" {...(column.number === true ? { className: 'hai-mod-number' } : {})}>
          {column.cell(item, selected)}
        </td>
      ))}
    </>
  );
});

/** The rows that were not read yet. */
function Gap(props: { first: number; rows: number; height: number }): JSX.Element {
  return (
    <tr
      aria-hidden="true"
      className="hai-Virtual-gap"
      style={{ top: `${props.first * props.height}px`, height: `${props.rows * props.height}px` }}
    >
      <td>
        <span className="hai-Virtual-loading">{trans.__('Loading…')}</span>
      </td>
    </tr>
  );
}

function Head<T>(props: {
  column: IColumn<T>;
  shown: ReactNode;
  sort: ITableProps<T>['sort'];
  onSort: (by: string) => void;
}): JSX.Element {
  const { column, sort } = props;
  const sorted = sort?.by === column.id ? (sort.down ? 'descending' : 'ascending') : undefined;
  return (
    <th
      role="columnheader"
      scope="col"
      {...(sorted ? { 'aria-sort': sorted } : {})}
      {...(column.number === true ? { className: 'hai-mod-number' } : {})}
    >
      {props.shown ??
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
