import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { aHost, aTask } from '../../testing/fakes';
import { HostProvider, type IHost } from '../host';
import { requestOf } from '../submit/again';
import { AgainButton } from './AgainButton';

describe('the button that submits again', () => {
  afterEach(cleanup);
  const task = aTask({ id: 41 });
  const show = (host: IHost, api: { submit: never } | null): void =>
    void render(
      <HostProvider value={host}>
        <AgainButton api={api} task={task} />
      </HostProvider>
    );
  const click = (): Promise<void> =>
    act(async () => void fireEvent.click(screen.getByRole('button', { name: /Submit again/ })));

  it('opens the form where there is one', async () => {
    const submitAgain = vi.fn();
    show(aHost({ submitAgain }), null);
    await click();
    expect(submitAgain).toHaveBeenCalledExactlyOnceWith(41);
  });

  it('else submits the task as it was, after a question, and shows the new one', async () => {
    const submit = vi.fn(async () => aTask({ id: 50 }));
    const host = aHost();
    show(host, { submit: submit as never });
    await click();
    expect(submit).toHaveBeenCalledExactlyOnceWith(requestOf(task), expect.any(String));
    expect(host.openTask).toHaveBeenCalledExactlyOnceWith(50);
  });

  it('submits nothing when the answer is no', async () => {
    const submit = vi.fn();
    show(aHost({ confirm: async () => false }), { submit: submit as never });
    await click();
    expect(submit).not.toHaveBeenCalled();
  });

  it('says why it was refused, and tries again under the same key', async () => {
    const submit = vi.fn().mockRejectedValue(new Error('No quota.'));
    const host = aHost();
    show(host, { submit: submit as never });
    await click();
    await click();
    expect(host.notify).toHaveBeenCalledWith('error', 'No quota.');
    expect(submit.mock.calls[0]?.[1]).toBe(submit.mock.calls[1]?.[1]);
  });

  it('is not there where neither is possible', () => {
    show(aHost(), null);
    expect(screen.queryByRole('button')).toBeNull();
  });
});
