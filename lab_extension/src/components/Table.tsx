/** Tables that are drawn as a whole. A column says its head and its cells in one place. */

import { Fragment, type JSX, type Key, type ReactNode } from 'react';

export interface ITableColumn<T> {
  title: ReactNode;
  cell: (item: T, row: number) => ReactNode;
  /** Whether its cells are heads of their rows. */
  head?: boolean;
  number?: boolean;
  /** Of its cells. */
  className?: string;
  /** What the head says under the pointer. */
  hint?: string | undefined;
  sorted?: 'ascending' | 'descending' | undefined;
}

export function Table<T>(props: {
  columns: readonly ITableColumn<T>[];
  items: readonly T[];
  keyOf: (item: T) => Key;
  /** The name of the area that the table is scrolled in, by the keyboard too. */
  region?: string;
  label?: string;
  testId?: string;
  className?: string;
  /** The classes of what the table is scrolled in. */
  around?: string;
  rowClass?: (item: T) => string | undefined;
  /** What is in a row of its own below an item; null: nothing. */
  below?: (item: T) => ReactNode;
}): JSX.Element {
  const { columns, region } = props;
  const number = ({ number }: ITableColumn<T>): string | undefined => (number ? 'hai-mod-number' : undefined);
  return (
    <div
      className={props.around ?? 'hai-Table-scroll'}
      {...(region === undefined ? {} : { tabIndex: 0, role: 'region', 'aria-label': region })}
    >
      <table className={props.className ?? 'hai-Table'} aria-label={props.label} data-testid={props.testId}>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th
                key={at}
                scope="col"
                className={number(column)}
                title={column.hint}
                aria-sort={column.sorted}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.items.map((item, row) => {
            const below = props.below?.(item) ?? null;
            return (
              <Fragment key={props.keyOf(item)}>
                <tr className={props.rowClass?.(item)}>
                  {columns.map((column, at) =>
                    column.head ? (
                      <th key={at} scope="row">
                        {column.cell(item, row)}
                      </th>
                    ) : (
                      <td key={at} className={column.className ?? number(column)}>
                        {column.cell(item, row)}
                      </td>
                    )
                  )}
                </tr>
                {below !== null && (
                  <tr>
                    <td colSpan={columns.length} className="hai-Admin-inside">
                      {below}
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
