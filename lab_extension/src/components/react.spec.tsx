import { Signal } from '@lumino/signaling';
import { render } from '@testing-library/react';
import { useEffect } from 'react';
import { expect, it } from 'vitest';
import { useSignal } from './react';

class Counted {
  readonly changed = new Signal<this, void>(this);
  value = 0;

  count(): void {
    this.value += 1;
    this.changed.emit();
  }
}

it('shows what changed after the first drawing and before the signal was connected', () => {
  const counted = new Counted();
  // The effects of what is inside run first.
  const Inside = (): null => {
    useEffect(() => counted.count(), []);
    return null;
  };
  const View = () => {
    useSignal(counted.changed);
    return (
      <p>
        {counted.value}
        <Inside />
      </p>
    );
  };
  expect(render(<View />).container.textContent).toBe('1');
});
