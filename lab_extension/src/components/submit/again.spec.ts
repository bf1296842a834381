import { describe, expect, it } from 'vitest';
import { aTask } from '../../testing/fakes';
import { SUBMIT_FIELDS } from '../../text/askedFields';
import { againOf, replaceQuestion, requestOf, withKept } from './again';
import { readForm, type IFormContext } from './form';

const CONTEXT: IFormContext = { policy: null, quota: [] };
const CODE = { digest: 'd1', commit: 'c1', dirty: true, files: 3, size: 10 };

describe('a task that is submitted again', () => {
  const old = aTask({
    name: 'train',
    nodes: 2,
    gpus: 4,
    ranks_per_node: 'gpu',
    priority: 'AUTO',
    command: ['python', 'train.py', '--name', 'a b'],
    cwd: '/home/ann',
    env: { LR: '0.1' },
    watch: ['out', 'ckpt'],
    secrets: ['HF_TOKEN', '~/.netrc=netrc'],
    time_limit_s: 5400,
    grace_s: 90,
    retries: 2,
    retry_backoff_s: 30,
    retry_exit_codes: [137],
    tags: ['lr'],
    snapshot: CODE
  });

  it('has everything but its number, its state and the folder where it saves', () => {
    const asked = requestOf(old);
    expect(asked).toMatchObject({
      name: 'train',
      nodes: 2,
      gpus: 4,
      ranks_per_node: 'gpu',
      priority: 'AUTO',
      retry_exit_codes: [137],
      tags: ['lr'],
      snapshot: { digest: 'd1', commit: 'c1', dirty: true }
    });
    expect(asked).not.toHaveProperty('checkpoint_dir');
    expect(asked).not.toHaveProperty('hold');
  });

  it('is the same task after it went through the form', () => {
    const again = againOf(old, CONTEXT);
    const { task, errors } = readForm(again.values, CONTEXT);
    expect(errors).toEqual({});
    expect({ ...withKept(task!, again), hold: undefined }).toEqual({ ...requestOf(old), hold: undefined });
  });

  it('keeps a field that the form has none for, as a later version may bring', () => {
    const nice = { ...old, niceness: 3 } as typeof old;
    const names = [...SUBMIT_FIELDS, 'niceness'];
    const again = againOf(nice, CONTEXT, names);
    const { task } = readForm(again.values, CONTEXT);
    expect(requestOf(nice, names)).toHaveProperty('niceness', 3);
    expect(withKept(task!, again)).toHaveProperty('niceness', 3);
  });

  it('drops what belongs to what was changed', () => {
    const again = againOf(old, CONTEXT);
    const { task } = readForm({ ...again.values, cwd: '/elsewhere', retries: '' }, CONTEXT);
    const sent = withKept(task!, again);
    expect(sent.snapshot).toBeNull();
    expect(sent.retry_exit_codes).toEqual([]);
    expect(sent.retry_backoff_s).toBe(0);
    expect(sent.tags).toEqual(['lr']);
  });

  it('takes the generation that it had, or the newest where it asked for that', () => {
    const haienv = { name: 'users/ann/vision', generation: 3, latest: false } as never;
    expect(requestOf(aTask({ haienv })).environment).toBe('users/ann/vision@3');
    const newest = { name: 'users/ann/vision', generation: 3, latest: true } as never;
    const asked = requestOf(aTask({ haienv: newest }));
    expect([asked.environment, asked.env_latest]).toEqual(['users/ann/vision', true]);
  });

  it('leaves a new task alone', () => {
    const { task } = readForm(againOf(old, CONTEXT).values, CONTEXT);
    expect(withKept(task!, null)).toBe(task);
  });

  it('asks about the old one only while that waits', () => {
    const made = aTask({ id: 50 });
    expect(replaceQuestion(aTask({ id: 41, state: 'running' }), made)).toBeNull();
    expect(replaceQuestion(aTask({ id: 41, state: 'queued' }), made)?.accept).toBe('Stop task 41');
  });
});
