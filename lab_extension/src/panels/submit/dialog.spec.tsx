import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../api/request';
import type { ITaskDetail, ITaskSubmit } from '../../api/types';
import { aTask } from '../../testing/fakes';
import { SubmitForm } from './SubmitForm';
import { SubmitModel, submitDialog } from './dialog';

const defaults = { name: 'train', cwd: '/home/alice', command: ['python', '-u', 'train.py'] };
const context = { policy: null, quota: [] };

describe('submitting', () => {
  it('sends the same key again when the same form is tried again, and another one after an edit', async () => {
    const keys: string[] = [];
    const model = new SubmitModel(
      {
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

  it('shows mistakes after the first try only, then while typing', async () => {
    const submit = vi.fn();
    const model = new SubmitModel({ submit }, defaults, context);
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
    const answer = submitDialog({ submit }, defaults, context, {});
    const form = await screen.findByTestId('hai-submit-form');
    fireEvent.click(document.querySelector('.jp-Dialog')!);
    expect(form.isConnected).toBe(true);
    fireEvent.keyDown(form, { key: 'Escape' });
    expect(await answer).toBeNull();
    expect(submit).not.toHaveBeenCalled();
  });
});

describe('the form', () => {
  it('has a labelled field by name for everything that can be sent', () => {
    const model = new SubmitModel({ submit: vi.fn() }, defaults, context);
    render(
      <SubmitForm
        values={model.values}
        errors={{ env: 'No.' }}
        context={context}
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
      { submit },
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

    const second = submitDialog({ submit }, defaults, context, {});
    expect((await screen.findByLabelText<HTMLSelectElement>('Environment')).value).toBe('');
    fireEvent.click(screen.getByTestId('hai-submit'));
    await second;
    expect(sent[1]?.environment).toBeNull();
  });
});
