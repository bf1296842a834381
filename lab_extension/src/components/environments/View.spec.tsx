import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { IEnvironmentsApi } from '../../api/environments';
import { EnvironmentsModel } from '../../models/environments';
import {
  FakeStream,
  aBuild,
  anEnvironment,
  anEnvironmentDetail,
  aHost,
  someEnvironments,
  somePlatform
} from '../../testing/fakes';
import { HostProvider, type IHost } from '../host';
import { View } from './View';
import { bytes, contentsOf, levelOf, nameError, requirementsOf } from './words';

async function shown(
  given: Partial<IEnvironmentsApi> = {},
  confirm: IHost['confirm'] = async () => true,
  platform = somePlatform()
) {
  const api = someEnvironments(given);
  const model = new EnvironmentsModel(api, platform);
  render(
    <HostProvider value={aHost({ confirm })}>
      <View model={model} />
    </HostProvider>
  );
  await waitFor(async () => model.refresh());
  return { api, model, platform };
}

describe('the view', () => {
  it('lists environments with whose they are and what they hold', async () => {
    await shown();
    const rows = within(await screen.findByTestId('hai-environment-list')).getAllByRole('row');
    const cells = rows.slice(1).map(row =>
      within(row)
        .getAllByRole('cell')
        .map(cell => cell.textContent)
    );
    expect(cells[0]?.slice(0, 6)).toEqual(['vision', 'mine', '3.11.7', 'timm==1.0.20', '8.4 MB', '2']);
    expect(cells[1]?.slice(0, 4)).toEqual(['torch', 'base', '3.11.7', 'torch']);
  });

  it('says once that the platform is away, whatever could not be read', async () => {
    const away = () => Promise.reject(new Error('Your JupyterLab server does not answer.'));
    const { api, model } = await shown();
    fireEvent.click(screen.getByTitle('users/ann/vision'));
    await screen.findByTestId('hai-environment-detail');
    Object.assign(api, { list: away, show: away });
    await model.refresh();
    expect([model.error, model.refusal]).toEqual(Array(2).fill('Your JupyterLab server does not answer.'));
    await waitFor(() => expect(screen.getAllByRole('alert')).toHaveLength(1));
  });

  it('has base ones built by the platform, and says so', async () => {
    const { api, model, platform } = await shown({}, undefined, somePlatform(['users/ann', 'base']));
    const submitted = vi.fn();
    model.submitted.connect((_, task) => void submitted(task.id));
    fireEvent.click(screen.getByTitle('base/torch'));
    expect((await screen.findByTestId('hai-environment-by-platform')).textContent).toMatch(/by a task/);
    fireEvent.change(screen.getByLabelText('Packages to install'), { target: { value: 'timm==1.0.20' } });
    fireEvent.click(screen.getByText('Install by a task'));
    await waitFor(() => expect(submitted).toHaveBeenCalledWith(7));
    expect(platform.build).toHaveBeenCalledWith(
      'base/torch',
      { verb: 'install', requirements: ['timm==1.0.20'] },
      expect.any(String)
    );
    expect(api.begin).not.toHaveBeenCalled();
    fireEvent.click(screen.getByTestId('hai-environment-new'));
    fireEvent.change(screen.getByLabelText('Whose'), { target: { value: 'base' } });
    expect(screen.getByTestId('hai-environment-create').textContent).toBe('Create by a task');
    fireEvent.change(screen.getByLabelText('Whose'), { target: { value: 'users/ann' } });
    expect(screen.getByTestId('hai-environment-create').textContent).toBe('Create');
  });

  it('makes one, after what is wrong with its name is said', async () => {
    const { api } = await shown();
    fireEvent.click(screen.getByTestId('hai-environment-new'));
    fireEvent.click(screen.getByTestId('hai-environment-create'));
    expect(screen.getByRole('alert').textContent).toMatch(/letters, digits/);
    expect(api.begin).not.toHaveBeenCalled();
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'new' } });
    fireEvent.change(screen.getByLabelText('Whose'), { target: { value: 'groups/cv' } });
    fireEvent.change(screen.getByLabelText('Extends'), { target: { value: 'base/torch' } });
    fireEvent.change(screen.getByLabelText('Requirements'), { target: { value: 'timm  # models\n\nnumpy' } });
    fireEvent.click(screen.getByTestId('hai-environment-create'));
    expect(api.begin).toHaveBeenCalledWith({
      verb: 'create',
      name: 'groups/cv/new',
      extend: 'base/torch',
      requirements: ['timm', 'numpy']
    });
    await waitFor(() => expect(screen.queryByTestId('hai-environment-form')).toBeNull());
  });

  it('keeps the form when the server refuses', async () => {
    await shown({
      begin: async () => {
        throw new Error('It is being changed already.');
      }
    });
    fireEvent.click(screen.getByTestId('hai-environment-new'));
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'new' } });
    fireEvent.click(screen.getByTestId('hai-environment-create'));
    expect((await screen.findByRole('alert')).textContent).toBe('It is being changed already.');
    expect(screen.getByLabelText<HTMLInputElement>('Name').value).toBe('new');
  });

  it('installs, rolls back, compares, shares and removes what the user owns', async () => {
    const { api } = await shown();
    fireEvent.click(await screen.findByRole('button', { name: 'vision' }));
    await screen.findByTestId('hai-environment-generations');
    fireEvent.change(screen.getByLabelText('Packages to install'), { target: { value: 'a==1, b' } });
    fireEvent.click(screen.getByTestId('hai-environment-install'));
    fireEvent.click(screen.getByRole('button', { name: 'Compare' }));
    await screen.findByText('timm 1.0.19 → 1.0.20');
    fireEvent.click(screen.getByRole('button', { name: 'Roll back to 1' }));
    fireEvent.change(screen.getByLabelText('Group'), { target: { value: 'cv' } });
    fireEvent.click(screen.getByRole('button', { name: 'Share' }));
    fireEvent.change(screen.getByLabelText('Share with'), { target: { value: 'all' } });
    fireEvent.click(screen.getByRole('button', { name: 'Share no longer' }));
    fireEvent.click(screen.getByRole('button', { name: 'Remove' }));
    const name = 'users/ann/vision';
    await waitFor(() => expect(api.begin).toHaveBeenCalledTimes(5));
    expect(vi.mocked(api.begin).mock.calls.map(call => call[0])).toEqual([
      { verb: 'install', name, requirements: ['a==1', 'b'] },
      { verb: 'rollback', name, generation: 1 },
      { verb: 'share', name, group: 'cv' },
      { verb: 'unshare', name, all: true },
      { verb: 'remove', name }
    ]);
  });

  it('compares with the generation before, once a build has made a new one', async () => {
    let numbers = [1];
    const { api, model } = await shown({
      show: async name => anEnvironmentDetail({ name, generation: numbers.at(-1)!, generations: numbers })
    });
    fireEvent.click(await screen.findByRole('button', { name: 'vision' }));
    await screen.findByText('1 package');
    expect(screen.queryByTestId('hai-environment-generations')).toBeNull();
    numbers = [1, 2];
    await model.refresh();
    await screen.findByTestId('hai-environment-generations');
    fireEvent.click(screen.getByRole('button', { name: 'Compare' }));
    expect(api.diff).toHaveBeenCalledWith('users/ann/vision@1', 'users/ann/vision@2');
  });

  it('removes nothing without a yes, and offers no changes of what belongs to others', async () => {
    const { api } = await shown({}, async () => false);
    fireEvent.click(await screen.findByRole('button', { name: 'vision' }));
    fireEvent.click(screen.getByRole('button', { name: 'Remove' }));
    fireEvent.click(screen.getByRole('button', { name: 'torch' }));
    await screen.findByTestId('hai-environment-generations');
    for (const label of ['Remove', 'Install', 'Share', 'Roll back to 1']) {
      expect(screen.queryByRole('button', { name: label }), label).toBeNull();
    }
    expect(api.begin).not.toHaveBeenCalled();
  });

  it('shows the output of a build, stops it, and says how it ended', async () => {
    const stream = new FakeStream();
    const { api } = await shown({ log: () => stream });
    fireEvent.click(await screen.findByRole('button', { name: 'vision' }));
    fireEvent.change(screen.getByLabelText('Packages to install'), { target: { value: 'a' } });
    fireEvent.click(screen.getByTestId('hai-environment-install'));
    const log = await screen.findByTestId('hai-build-log');
    stream.send('line', { text: 'resolving' }, '1');
    stream.send('line', { text: '\u001b[32minstalling\u001b[0m' }, '2');
    await waitFor(() => expect(log.textContent).toBe('resolving\ninstalling'));
    fireEvent.click(screen.getByRole('button', { name: 'Stop it' }));
    expect(api.stop).toHaveBeenCalledWith(1);
    stream.send('end', aBuild({ state: 'stopped', status: 130 }));
    await waitFor(() =>
      expect(screen.getByTestId('hai-build-state').textContent).toBe('Stopped: nothing has changed')
    );
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));
    expect(screen.queryByTestId('hai-build')).toBeNull();
  });

  it('opens what one holds by a click anywhere in its row, and closes it by another one', async () => {
    await shown();
    const contents = await screen.findByText('timm==1.0.20');
    fireEvent.click(contents);
    await screen.findByTestId('hai-environment-detail');
    fireEvent.click(contents);
    await waitFor(() => expect(screen.queryByTestId('hai-environment-detail')).toBeNull());
    fireEvent.click(screen.getByRole('button', { name: 'vision' }));
    await screen.findByTestId('hai-environment-detail');
  });

  it('stays as it is when a text in a row is selected with the mouse', async () => {
    await shown();
    const contents = await screen.findByText('timm==1.0.20');
    window.getSelection()?.selectAllChildren(contents);
    fireEvent.click(contents);
    window.getSelection()?.removeAllRanges();
    expect(screen.queryByTestId('hai-environment-detail')).toBeNull();
  });

  it('goes from row to row with the arrow keys', async () => {
    await shown();
    const name = await screen.findByRole('button', { name: 'vision' });
    name.focus();
    fireEvent.keyDown(name, { key: 'ArrowUp' });
    expect(document.activeElement).toBe(name);
    fireEvent.keyDown(name, { key: 'ArrowDown' });
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'torch' }));
    fireEvent.keyDown(document.activeElement!, { key: 'ArrowUp' });
    expect(document.activeElement).toBe(name);
  });

  it('asks whether the draft may go too, and then says so to the server', async () => {
    const asked = vi.fn<IHost['confirm']>(async () => true);
    const { api } = await shown(
      {
        list: async () => ({ items: [anEnvironment({ draft: true })], owners: ['users/ann'], builds: [] })
      },
      asked
    );
    fireEvent.click(await screen.findByRole('button', { name: 'vision' }));
    fireEvent.click(screen.getByRole('button', { name: 'Remove' }));
    const name = 'users/ann/vision';
    await waitFor(() => expect(api.begin).toHaveBeenCalledWith({ verb: 'remove', name, with_draft: true }));
    expect(asked).toHaveBeenCalledOnce();
    expect(asked.mock.calls[0]?.[0]).toMatchObject({
      title: `Remove ${name}?`,
      body: expect.stringMatching(/open draft/) as string
    });
  });

  it('says what is wrong with one that has no generation', async () => {
    await shown({
      list: async () => ({
        items: [{ name: 'users/ann/half', trouble: 'its first build has not ended' }],
        owners: ['users/ann'],
        builds: []
      })
    });
    expect((await screen.findByText('its first build has not ended')).getAttribute('colspan')).toBe('5');
  });
});

describe('words', () => {
  it('tell own, group, base and other users’ environments apart', () => {
    const levels = ['users/ann/x', 'users/bob/x', 'groups/cv/x', 'base/x'].map(name =>
      levelOf(name, ['users/ann', 'base'])
    );
    expect(levels).toEqual(['mine', 'bob', 'group cv', 'base']);
  });

  it('have units', () => {
    expect([0, 999, 1500, 12_000_000, 877_000_000, 2.5e15].map(bytes)).toEqual([
      '0 B',
      '999 B',
      '1.5 kB',
      '12 MB',
      '877 MB',
      '2500 TB'
    ]);
  });

  it('say what an environment holds', () => {
    expect(contentsOf(anEnvironment({ extends: 'base/torch@3' }))).toBe('base/torch@3, timm==1.0.20');
    expect(contentsOf({ name: 'base/x', trouble: '' })).toBe('nothing but Python');
  });

  it('read a requirements file, and keep what looks like a comment within a line', () => {
    expect(requirementsOf('# all\na==1 # one\n\n b @ https://x/y#sha\n')).toEqual([
      'a==1',
      'b @ https://x/y#sha'
    ]);
  });

  it('name what is wrong with a name', () => {
    for (const name of ['', '.x', '../x', 'a b', '-x']) {
      expect(nameError('users/ann', name, []), name).not.toBeNull();
    }
    expect(nameError('users/ann', 'x', [])).toBeNull();
    expect(nameError('users/ann', 'x', ['users/ann/x'])).toMatch(/already/);
  });
});
