import { describe, expect, it } from 'vitest';
import type { IOwnQuota, IPolicy } from '../../api/types';
import { aLength, aQuota } from '../../testing/fakes';
import { ASKED_DEFAULTS, SUBMIT_FIELDS } from '../../text/askedFields';
import { initialValues, readForm, serverErrors, type IFormContext, type IFormValues } from './form';

const policy: IPolicy = {
  numbers: [
    {
      name: 'max_grace',
      kind: 'duration',
      rule: 'P5',
      help: 'The longest grace that a task may ask for.',
      choices: [],
      default: '10m',
      common: aLength('10m', 600),
      groups: { jupyter: aLength('10m', 600), training: aLength('30m', 1800) }
    }
  ],
  groups: ['jupyter', 'training'],
  trouble: null,
  warnings: [],
  version: ''
};
const quota: IOwnQuota[] = [
  aQuota({ priority: 'HIGH', limit: 4, used: 1 }),
  aQuota({ priority: 'NORMAL', limit: 16 })
];
const context: IFormContext = { policy, quota };
const defaults = { name: 'train', cwd: '/home/alice', command: ['python', '-u', 'my train.py'] };

function values(given: Partial<IFormValues> = {}): IFormValues {
  return { ...initialValues(defaults, context), ...given };
}

describe('the submit form', () => {
  it('has every field of a submission, or leaves it to the command line', () => {
    const form = values();
    expect(SUBMIT_FIELDS.filter(name => !(name in form))).toEqual([
      'checkpoint_dir',
      'tags',
      'retry_backoff_s',
      'retry_exit_codes',
      'env_latest',
      'take_snapshot'
    ]);
  });

  it('opens with a task that can be sent as it is', () => {
    const { task, errors } = readForm(values(), context);
    expect(errors).toEqual({});
    expect(task).toEqual({
      name: 'train',
      command: ['python', '-u', 'my train.py'],
      cwd: '/home/alice',
      nodes: 1,
      gpus: null,
      ranks_per_node: null,
      priority: 'NORMAL',
      group: 'training',
      environment: null,
      env: {},
      profile: 'auto',
      signal: null,
      watch: [],
      grace_s: null,
      time_limit_s: null,
      ...ASKED_DEFAULTS,
      hold: false
    });
  });

  it('opens with the Python of the kernel of a notebook, which the user may change', () => {
    const opened = initialValues({ ...defaults, env: { HAI_VENV: '/home/alice/torch' } }, context);
    expect(opened.env).toBe('HAI_VENV=/home/alice/torch');
    expect(readForm(opened, context).task?.env).toEqual({ HAI_VENV: '/home/alice/torch' });
    expect(readForm({ ...opened, env: '' }, context).task?.env).toEqual({});
  });

  it('reads lengths of time and variables', () => {
    const { task } = readForm(
      values({ grace_s: '5m', time_limit_s: '12h', env: 'A=1\nB=2', nodes: ' 2 ' }),
      context
    );
    expect(task).toMatchObject({ grace_s: 300, time_limit_s: 43_200, env: { A: '1', B: '2' }, nodes: 2 });
  });

  it('sends a signal as the service writes it, and a path for each line', () => {
    const typed = { signal: ' sigusr1@60 ', watch: 'out/last.ckpt\n\n /scratch/run ' };
    expect(readForm(values(typed), context).task).toMatchObject({
      signal: 'USR1@60',
      watch: ['out/last.ckpt', '/scratch/run']
    });
  });

  it('sends the names of secrets, and no value', () => {
    const typed = { secrets: ' HF_TOKEN \n\nWANDB_API_KEY=wandb\n~/.netrc=netrc' };
    expect(readForm(values(typed), context).task?.secrets).toEqual([
      'HF_TOKEN',
      'WANDB_API_KEY=wandb',
      '~/.netrc=netrc'
    ]);
  });

  it('sends GPUs of each node and retries as numbers', () => {
    expect(readForm(values({ gpus: ' 2 ', retries: '3' }), context).task).toMatchObject({
      gpus: 2,
      retries: 3
    });
    expect(readForm(values({ ranks_per_node: ' 4 ' }), context).task).toMatchObject({ ranks_per_node: 4 });
    expect(readForm(values({ ranks_per_node: 'GPU' }), context).task).toMatchObject({
      ranks_per_node: 'gpu'
    });
    expect(readForm(values({ retries: '0' }), context).task).toMatchObject({ gpus: null, retries: 0 });
  });

  it('takes a name in any script, in its composed form', () => {
    for (const name of ['训练', 'обучение-2', 'प्रशिक्षण']) {
      expect(readForm(values({ name }), context).task).toMatchObject({ name });
    }
    expect(readForm(values({ name: 'e\u0301te\u0301' }), context).task).toMatchObject({ name: 'été' });
  });

  it.each<[Partial<IFormValues>, keyof IFormValues, RegExp]>([
    [{ name: ' ' }, 'name', /Give the task a name/],
    [{ name: '-x' }, 'name', /begin with a letter/],
    [{ name: '2026' }, 'name', /digits alone/],
    [{ name: '１２' }, 'name', /digits alone/],
    [{ name: '训 练' }, 'name', /letters and digits of any script/],
    [{ name: 'a\u202eb' }, 'name', /letters and digits of any script/],
    [{ name: 'x'.repeat(64) }, 'name', /63/],
    [{ command: '' }, 'command', /Say what to run/],
    [{ command: 'python "x' }, 'command', /not closed/],
    [{ nodes: '0' }, 'nodes', /1 or more/],
    [{ nodes: '1.5' }, 'nodes', /whole number/],
    [{ nodes: '17', priority: 'AUTO' }, 'nodes', /quota at any priority in training is 16/],
    [{ nodes: '5', priority: 'HIGH' }, 'nodes', /at this priority in training is 4/],
    [{ gpus: '0' }, 'gpus', /empty for whole nodes/],
    [{ ranks_per_node: '0' }, 'ranks_per_node', /empty for one/],
    [{ ranks_per_node: '1025' }, 'ranks_per_node', /up to 1024/],
    [{ ranks_per_node: 'all' }, 'ranks_per_node', /gpu for one per GPU/],
    [{ gpus: 'two' }, 'gpus', /whole number/],
    [{ retries: '-1' }, 'retries', /empty for none/],
    [{ retries: '101' }, 'retries', /up to 100/],
    [{ grace_s: '1h' }, 'grace_s', /At most 30 min/],
    [{ grace_s: '20m', group: 'jupyter' }, 'grace_s', /At most 10 min/],
    [{ grace_s: '20m', group: 'elsewhere' }, 'grace_s', /At most 10 min/],
    [{ time_limit_s: '0' }, 'time_limit_s', /more than 0/],
    [{ signal: 'KILL' }, 'signal', /USR1@60/],
    [{ signal: 'USR1', profile: 'kill' }, 'signal', /sends no signal/],
    [{ env: 'A' }, 'env', /KEY=value/],
    [{ cwd: 'project' }, 'cwd', /absolute/]
  ])('says what is wrong with %j', (given, field, message) => {
    const { task, errors } = readForm(values(given), context);
    expect(task).toBeNull();
    expect(Object.keys(errors)).toEqual([field]);
    expect(errors[field]).toMatch(message);
  });

  it('does not guess limits that it does not know', () => {
    expect(readForm(values({ nodes: '5000' }), { policy: null, quota: [] }).task).not.toBeNull();
    const unlimited = [...quota, { ...quota[0]!, priority: 'LOW' as const, limit: null }];
    expect(
      readForm(values({ nodes: '5000', priority: 'AUTO' }), { policy, quota: unlimited }).task
    ).not.toBeNull();
    const parts = values({ nodes: '17', gpus: '1' });
    expect(readForm(parts, context).task, 'parts of nodes count by their part').not.toBeNull();
  });

  it("puts the service's words beside their fields, and the rest above the form", () => {
    const errors = [
      { field: 'name', value: 'train', message: 'It is taken.' },
      { field: 'body.env.A', value: 'x', message: 'Too long.' },
      { field: 'shoe_size', value: 44, message: '?' }
    ];
    expect(serverErrors(errors, 'Wrong.', values())).toEqual({ name: 'It is taken.', env: 'Too long.' });
    expect(serverErrors([], 'Your quota is 0.', values())).toEqual({ form: 'Your quota is 0.' });
  });
});
