import { render, screen } from '@testing-library/react';
import type { JSX } from 'react';
import { describe, expect, it } from 'vitest';
import { Notice, SaidOnce } from './react';

function View(props: { said: readonly string[] }): JSX.Element {
  return (
    <SaidOnce>
      {props.said.map(
        (text, place) =>
          text !== '' && (
            <Notice key={place} kind="error">
              {text}
            </Notice>
          )
      )}
      <SaidOnce>
        <Notice kind="warning">It is away.</Notice>
      </SaidOnce>
    </SaidOnce>
  );
}

describe('what a view says', () => {
  const shown = (): (string | null)[] => screen.queryAllByText(/away|full/).map(each => each.textContent);

  it('is said once by all that know it, as long as one of them does', () => {
    const { rerender } = render(<View said={['It is away.', 'It is away.', 'It is full.']} />);
    expect(shown()).toEqual(['It is away.', 'It is full.']);
    rerender(<View said={['', 'It is away.', 'It is full.']} />);
    expect(shown()).toEqual(['It is away.', 'It is full.']);
    rerender(<View said={['', 'It is full.', '']} />);
    expect(shown()).toEqual(['It is full.', 'It is away.']);
  });
});
