import { act, fireEvent, render, screen, within } from '@testing-library/react';
import type { JSX } from 'react';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ROW, VirtualTable, type IColumn } from './VirtualTable';

interface IItem {
  id: number;
}

const ITEMS = Array.from({ length: 10_000 }, (_, id): IItem => ({ id }));

function show(cell: (item: IItem) => string): HTMLElement {
  const columns: IColumn<IItem>[] = [{ id: 'name', title: 'Number', width: 'auto', cell }];
  render(
    <VirtualTable
      label="Numbers"
      testId="table"
      columns={columns}
      items={ITEMS}
      keyOf={item => item.id}
      nameOf={item => `name ${item.id}`}
      sort={null}
      onSort={vi.fn()}
      selected={new Set()}
    />
  );
  const box = screen.getByRole('region', { name: 'Numbers' });
  Object.defineProperty(box, 'clientHeight', { value: 20 * ROW });
  fireEvent.scroll(box);
  return box;
}

describe('a table of ten thousand rows', () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  beforeAll(() => {
    // jsdom has none: nothing changes its size here.
    vi.stubGlobal(
      'ResizeObserver',
      class {
        observe(): void {}
        disconnect(): void {}
      }
    );
  });

  it('draws those alone that come into sight when it is scrolled', () => {
    const cell = vi.fn((item: IItem) => `row ${item.id}`);
    const box = show(cell);
    box.scrollTop = 5_000 * ROW;
    fireEvent.scroll(box);
    expect(screen.getByText('row 5000')).toBeTruthy();
    cell.mockClear();
    box.scrollTop = 5_003 * ROW;
    fireEvent.scroll(box);
    expect(cell.mock.calls.map(([item]) => item.id)).toEqual([5_032, 5_033, 5_034]);
  });

  it('draws none again that has only another place', () => {
    const cell = vi.fn((item: IItem) => `row ${item.id}`);
    const columns: IColumn<IItem>[] = [{ id: 'name', title: 'Number', width: 'auto', cell }];
    const table = (items: readonly IItem[], chosen: number[] = []): JSX.Element => (
      <VirtualTable
        label="Numbers"
        testId="table"
        columns={columns}
        heads={{ name: `${items.length} numbers` }}
        items={items}
        keyOf={item => item.id}
        nameOf={item => `name ${item.id}`}
        sort={null}
        onSort={vi.fn()}
        selected={new Set(chosen)}
      />
    );
    const { rerender } = render(table(ITEMS));
    cell.mockClear();
    rerender(table([{ id: -1 }, ...ITEMS], [5]));
    expect(cell.mock.calls.map(([item]) => item.id)).toEqual([-1, 5]);
    expect(screen.getByRole('columnheader').textContent).toBe('10001 numbers');
    const row = screen.getByText('row 5').closest('tr')!;
    expect([row.style.top, row.className]).toEqual([`${6 * ROW}px`, 'hai-mod-selected']);
  });

  it('has names alone of rows that fly past, and all of them when the scroll is over', () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    const cell = vi.fn((item: IItem) => `row ${item.id}`);
    const box = show(cell);
    const scrollTo = (row: number): void => {
      box.scrollTop = row * ROW;
      fireEvent.scroll(box);
    };
    scrollTo(1_000);
    cell.mockClear();
    scrollTo(1_010);
    expect(screen.getByText('name 1035')).toBeTruthy();
    expect(screen.getByText('row 1020')).toBeTruthy();
    scrollTo(1_020);
    expect(cell).not.toHaveBeenCalled();
    act(() => void vi.advanceTimersByTime(300));
    expect(screen.getByText('row 1045')).toBeTruthy();
    expect(screen.queryByText(/^name/)).toBeNull();
  });

  it('is a table for those who hear it', () => {
    show(item => `row ${item.id}`);
    const table = screen.getByRole('table');
    expect(within(table).getAllByRole('rowgroup')).toHaveLength(2);
    expect(within(within(table).getAllByRole('row')[1]!).getByRole('cell').textContent).toBe('row 0');
  });

  it('says the place of each row among all', () => {
    const box = show(item => `row ${item.id}`);
    box.scrollTop = 9_000 * ROW;
    fireEvent.scroll(box);
    expect(screen.getByText('row 9000').closest('tr')!.getAttribute('aria-rowindex')).toBe('9002');
  });
});
