import { fireEvent, render, screen } from '@testing-library/react';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ROW, VirtualTable, type IColumn } from './VirtualTable';

interface IItem {
  id: number;
}

const ITEMS = Array.from({ length: 10_000 }, (_, id): IItem => ({ id }));

function show(cell: (item: IItem) => string): HTMLElement {
  const columns: IColumn<IItem>[] = [{ id: 'id', title: 'Number', width: 'auto', cell }];
  render(
    <VirtualTable
      label="Numbers"
      testId="table"
      columns={columns}
      items={ITEMS}
      keyOf={item => item.id}
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

  it('says the place of each row among all', () => {
    const box = show(item => `row ${item.id}`);
    box.scrollTop = 9_000 * ROW;
    fireEvent.scroll(box);
    expect(screen.getByText('row 9000').closest('tr')!.getAttribute('aria-rowindex')).toBe('9002');
  });
});
