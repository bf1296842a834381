import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { ISnapshotTaken } from '../api/extension';
import { ApiError } from '../api/request';
import type { IPolicy, ITaskDetail, ITaskSubmit } from '../api/types';
import { aLength, aTask } from '../testing/fakes';
import { SubmitForm } from '../components/submit/SubmitForm';
import { SubmitModel } from '../components/submit/model';
import { submitDialog } from './submit';

const defaults = { name: 'train', cwd: '/home/alice', command: ['python', '-u', 'train.py'] };
const context = { policy: null, quota: [] };
const stored = async (): Promise<ISnapshotTaken> => ({
  digest: 'd1',
  commit: null,
  dirty: false,
  told: '',
  notes: []
});
const snapshot = vi.fn(stored);

/** A policy that says this of snapshots. */
function saying(mode: string): IPolicy {
  const common = { ...aLength('x', 0), value: mode, length_s: null };
  const number = {
    name: 'snapshots',
    kind: 'choice' as const,
    rule: '',
    help: '',
    choices: [],
    default: mode
  };
  return {
    numbers: [{ ...number, common, groups: {} }],
    groups: ['training'],
    trouble: null,
    warnings: [],
    version: ''
  };
}

describe('submitting', () => {
  it('sends the same key again when the same form is tried again, and another one after an edit', async () => {
    const keys: string[] = [];
    const model = new SubmitModel(
      {
        snapshot,
        submit: async (_task, key) => {
          keys.push(key);
          throw new ApiError({ status: 503, code: 'unavailable', detail: 'It is away.' });
        }
      },
      defaults,
      context
    );
    await model.submit();
    await model.submit();
    model.edit({ ...model.values, name: 'other' });
    await model.submit();
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
    expect(model.errors).toEqual({ form: 'It is away.' });
  });

  it('stores the folder first where it is to start in that, and again after an edit', async () => {
    const sent: ITaskSubmit[] = [];
    const submit = async (task: ITaskSubmit): Promise<ITaskDetail> => {
      sent.push(task);
      throw new ApiError({ status: 503, code: 'unavailable', detail: 'It is away.' });
    };
    const take = vi.fn(stored);
    const model = new SubmitModel({ submit, snapshot: take }, defaults, {
      ...context,
      policy: saying('offered')
    });
    await model.submit();
    expect(take).not.toHaveBeenCalled();
    model.edit({ ...model.values, snapshot: true });
    await model.submit();
    await model.submit();
    expect(take.mock.calls).toEqual([['/home/alice', 'training']]);
    model.edit({ ...model.values, name: 'other' });
    await model.submit();
    expect(take).toHaveBeenCalledTimes(2);
    const named = { digest: 'd1', commit: null, dirty: false };
    expect(sent.map(task => task.snapshot)).toEqual([undefined, named, named, named]);
  });

  it.each([
    ['off', false],
    ['offered', false],
    ['required', true]
  ])('follows what the group says of snapshots: %s', async (mode, taken) => {
    const take = vi.fn(stored);
    const model = new SubmitModel({ submit: async () => aTask(), snapshot: take }, defaults, {
      ...context,
      policy: saying(mode)
    });
    await model.submit();
    expect(take).toHaveBeenCalledTimes(taken ? 1 : 0);
  });

  it('shows mistakes after the first try only, then while typing', async () => {
    const submit = vi.fn();
    const model = new SubmitModel({ submit, snapshot }, defaults, context);
    model.edit({ ...model.values, nodes: '' });
    expect(model.errors).toEqual({});
    expect(await model.submit()).toBeNull();
    expect(model.errors.nodes).toMatch(/whole number/);
    model.edit({ ...model.values, nodes: '2' });
    expect(model.errors).toEqual({});
    expect(submit).not.toHaveBeenCalled();
  });

  it('keeps the dialog open until the platform has taken the task', async () => {
    const sent: ITaskSubmit[] = [];
    const answer = submitDialog(
      {
        snapshot,
        submit: async task => {
          sent.push(task);
          if (task.name === 'train') {
            throw new ApiError({
              status: 409,
              code: 'conflict',
              detail: 'x',
              errors: [{ field: 'name', value: 'train', message: 'You have a live task of that name.' }]
            });
          }
          return aTask({ id: 7, name: task.name });
        }
      },
      defaults,
      context,
      { training: 3 }
    );
    await screen.findByText('3 free in training now');
    fireEvent.click(screen.getByTestId('hai-submit'));
    await screen.findByText('You have a live task of that name.');
    const name = screen.getByLabelText<HTMLInputElement>('Name');
    expect(name.getAttribute('aria-invalid')).toBe('true');
    fireEvent.change(name, { target: { value: 'train-2' } });
    fireEvent.click(screen.getByTestId('hai-submit'));
    expect((await answer)?.id).toBe(7);
    expect(sent.map(task => task.name)).toEqual(['train', 'train-2']);
    await waitFor(() => expect(screen.queryByTestId('hai-submit-form')).toBeNull());
  });

  it('submits nothing when Escape cancels it, and stays open after a click beside it', async () => {
    const submit = vi.fn();
    const answer = submitDialog({ submit, snapshot }, defaults, context, {});
    const form = await screen.findByTestId('hai-submit-form');
    fireEvent.click(document.querySelector('.jp-Dialog')!);
    expect(form.isConnected).toBe(true);
    fireEvent.keyDown(form, { key: 'Escape' });
    expect(await answer).toBeNull();
    expect(submit).not.toHaveBeenCalled();
  });
});

describe('the draft of the environment', () => {
  const given = { ...defaults, environment: 'users/ann/vision' };
  const withDraft = { ...context, drafts: ['users/ann/vision'] };
  const frozen = async () => ({ changed: true, generation: 7 });

  it('is frozen first, and the task gets that generation, at each try', async () => {
    const sent: ITaskSubmit[] = [];
    const submit = async (task: ITaskSubmit): Promise<ITaskDetail> => {
      sent.push(task);
      throw new ApiError({ status: 503, code: 'unavailable', detail: 'It is away.' });
    };
    const freeze = vi.fn(frozen);
    const model = new SubmitModel({ submit, snapshot }, given, withDraft, freeze);
    await model.submit();
    await model.submit();
    expect(sent.map(task => task.environment)).toEqual(['users/ann/vision@7', 'users/ann/vision@7']);
    expect(freeze.mock.calls).toEqual([['users/ann/vision']]);
  });

  it('is left alone where nothing has changed in it, where the user says so, and where there is none', async () => {
    const sent: ITaskSubmit[] = [];
    const submit = async (task: ITaskSubmit): Promise<ITaskDetail> => {
      sent.push(task);
      return aTask({ id: 1, name: task.name });
    };
    const freeze = vi.fn(frozen);
    const unchanged = async () => ({ changed: false, generation: null });
    await new SubmitModel({ submit, snapshot }, given, withDraft, unchanged).submit();
    const without = new SubmitModel({ submit, snapshot }, given, withDraft, freeze);
    without.edit({ ...without.values, freeze: false });
    await without.submit();
    await new SubmitModel({ submit, snapshot }, given, context, freeze).submit();
    expect(sent.map(task => task.environment)).toEqual(Array(3).fill('users/ann/vision'));
    expect(freeze).not.toHaveBeenCalled();
  });

  it('that cannot be frozen submits nothing and says why', async () => {
    const submit = vi.fn();
    const freeze = async () => {
      throw new ApiError({ status: 422, code: 'invalid', detail: 'package: mine is an editable install' });
    };
    const model = new SubmitModel({ submit, snapshot }, given, withDraft, freeze);
    expect(await model.submit()).toBeNull();
    expect(model.errors.form).toMatch(/editable install/);
    expect(submit).not.toHaveBeenCalled();
  });
});

describe('the form', () => {
  it('has a labelled field by name for everything that can be sent', () => {
    const given = { ...defaults, environment: 'users/ann/vision' };
    const withDraft = { ...context, drafts: ['users/ann/vision'] };
    const model = new SubmitModel({ submit: vi.fn(), snapshot }, given, withDraft);
    render(
      <SubmitForm
        values={model.values}
        errors={{ env: 'No.' }}
        context={{ ...withDraft, policy: saying('offered') }}
        free={{}}
        busy={false}
        onChange={() => {}}
        onSubmit={() => {}}
      />
    );
    const form = screen.getByTestId<HTMLFormElement>('hai-submit-form');
    const fields = [...form.elements].filter(each => each.hasAttribute('name'));
    expect(fields.map(each => each.getAttribute('name')).sort()).toEqual(Object.keys(model.values).sort());
    for (const field of fields as HTMLInputElement[]) {
      expect(field.labels?.length, field.name).toBe(1);
    }
    expect(screen.getByRole('alert').textContent).toBe('No.');
  });

  it('offers the environments, with that of the notebook’s kernel chosen', async () => {
    const sent: ITaskSubmit[] = [];
    const submit = async (task: ITaskSubmit): Promise<ITaskDetail> => {
      sent.push(task);
      return aTask();
    };
    const answer = submitDialog(
      { submit, snapshot },
      { ...defaults, environment: 'users/ann/vision@3' },
      { ...context, environments: ['users/ann/vision', 'base/torch', 'admins-own'] },
      {}
    );
    const choice = await screen.findByLabelText<HTMLSelectElement>('Environment');
    expect(choice.value).toBe('users/ann/vision@3');
    expect([...choice.options].map(option => option.value)).toEqual([
      '',
      'users/ann/vision@3',
      'users/ann/vision',
      'base/torch',
      'admins-own'
    ]);
    fireEvent.click(screen.getByTestId('hai-submit'));
    await answer;
    expect(sent[0]?.environment).toBe('users/ann/vision@3');

    const second = submitDialog({ submit, snapshot }, defaults, context, {});
    expect((await screen.findByLabelText<HTMLSelectElement>('Environment')).value).toBe('');
    fireEvent.click(screen.getByTestId('hai-submit'));
    await second;
    expect(sent[1]?.environment).toBeNull();
  });
});
