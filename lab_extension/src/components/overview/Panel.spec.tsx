import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { ICluster, IMe } from '../../api/types';
import { aQuota, aTask, aWaitingTask } from '../../testing/fakes';
import { Panel, type IPanelProps } from './Panel';
import { filterTasks, noteOf, ordinal, timeOf } from './TaskList';

const cluster: ICluster = {
  paused: false,
  standstill: null,
  groups: [
    {
      group: 'training',
      nodes: 24,
      held: 10,
      free: 12,
      unavailable: 2,
      shared: 0,
      gpus: 192,
      gpus_free: 96,
      levels: [
        { priority: 'HIGH', running_tasks: 2, running_nodes: 10, waiting_tasks: 3, waiting_nodes: 8 },
        { priority: 'LOW', running_tasks: 0, running_nodes: 0, waiting_tasks: 0, waiting_nodes: 0 }
      ]
    }
  ]
};
const me: IMe = {
  name: 'alice',
  kind: 'user',
  admin: false,
  identity: null,
  no_identity: '',
  groups: [],
  scopes: [],
  quota: [
    aQuota({ priority: 'HIGH', limit: 8, used: 8, source: 'user:alice' }),
    aQuota({ priority: 'LOW', limit: null, used: 1 }),
    aQuota({ priority: 'VERY_HIGH', limit: 0 })
  ]
};

function panel(given: Partial<IPanelProps> = {}): IPanelProps {
  const props: IPanelProps = {
    cluster,
    me,
    tasks: [],
    fresh: new Set(),
    unread: 0,
    ready: true,
    error: null,
    feed: 'live',
    file: null,
    onSubmit: vi.fn(),
    onEnvironments: vi.fn(),
    onNotifications: vi.fn(),
    onOpen: vi.fn(),
    onCompare: vi.fn(),
    onRefresh: vi.fn(),
    ...given
  };
  render(<Panel {...props} />);
  return props;
}

describe('the panel', () => {
  it('says in words what the bars show', () => {
    panel();
    const bar = screen.getByRole('img', { name: 'training: 10 of 24 nodes held, 12 free, 2 unavailable' });
    expect(bar.children).toHaveLength(2);
    const rows = within(screen.getByTestId('hai-cluster')).getAllByRole('row');
    expect(rows.map(row => row.textContent)).toEqual(['Tasks (nodes)RunningWaiting', 'High2 (10)3 (8)']);
  });

  it('tells nodes that are held in part, and the GPUs that are free', () => {
    const groups = cluster.groups.map(group => ({ ...group, shared: 3, gpus_free: 101 }));
    panel({ cluster: { ...cluster, groups } });
    const view = screen.getByTestId('hai-cluster');
    expect(
      within(view).getByRole('img', {
        name: 'training: 10 of 24 nodes held (3 of them in part), 12 free, 2 unavailable'
      })
    ).toBeTruthy();
    expect(view.textContent).toContain('12 of 24 free, 101 of 192 GPUs');
  });

  it('shows parts of nodes in use shortly', () => {
    panel({
      me: { ...me, quota: [aQuota({ group: 'a', priority: 'LOW', limit: 2, used: 0.333333 })] }
    });
    expect(screen.getByTestId('hai-quota').textContent).toContain('Low0.33 of 2');
  });

  it('shows quota that limits the user, and the rest in a sentence', () => {
    panel({ me: { ...me, quota: [...me.quota, aQuota({ priority: 'NORMAL', limit: 4 })] } });
    const quota = screen.getByTestId('hai-quota');
    expect(quota.textContent).toContain('High8 of 8');
    expect(within(quota).getAllByRole('img')).toHaveLength(1);
    expect(quota.textContent).toContain('Nothing held, limits: Normal (4 nodes)');
    expect(quota.textContent).toContain('No limit: Low (1 node held)');
    expect(quota.textContent).not.toContain('Very high');
  });

  it('shows quota for which a task waits, though nothing of it is held', () => {
    const quota = [aQuota({ priority: 'HIGH', limit: 2 })];
    const short = {
      id: 'quota',
      data: { group: 'training', level: 'HIGH' },
      until: null,
      words: 'waits for quota',
      text: 'waits for quota'
    } as const;
    panel({ me: { ...me, quota }, tasks: [aWaitingTask(7, null, { short })] });
    expect(screen.getByTestId('hai-quota').textContent).toBe(
      'High0 of 2A task of yours waits for quota at High.'
    );
  });

  it('tells a user without quota whom to ask', () => {
    panel({ me: { ...me, quota: [aQuota({ limit: 0 })] } });
    expect(screen.getByTestId('hai-quota').textContent).toContain('You have no quota yet');
  });

  it('offers to submit the open file, and opens a task that is clicked', () => {
    const props = panel({ file: 'train.py', tasks: [aTask({ id: 7 })] });
    const button = screen.getByTestId('hai-submit-open');
    expect(button.textContent).toContain('Submit train.py');
    fireEvent.click(button);
    expect(props.onSubmit).toHaveBeenCalledOnce();
    fireEvent.click(screen.getByTestId('hai-task-row-7'));
    expect(props.onOpen).toHaveBeenCalledExactlyOnceWith(7);
  });

  it('says why a task waits in one sentence with its place in line', () => {
    panel({ tasks: [aWaitingTask(7, 3)] });
    expect(screen.getByTestId('hai-task-row-7').textContent).toContain(
      '3rd in line. It needs 2 nodes and 1 is free.'
    );
  });

  it('says in a few words why a task waits, and the whole on demand', () => {
    const words = 'waits for 2 nodes of training';
    const short = { id: 'capacity', data: {}, until: null, words, text: words } as const;
    const props = panel({ tasks: [aWaitingTask(7, 3, { short })] });
    expect(screen.getByTestId('hai-task-row-7').textContent).toContain(
      '3rd in line: waits for 2 nodes of training'
    );
    expect(screen.queryByText('It needs 2 nodes and 1 is free.')).toBeNull();
    const why = screen.getByRole('button', { name: 'Why does train wait?' });
    expect(why.getAttribute('aria-expanded')).toBe('false');
    fireEvent.click(why);
    expect(screen.getByText('It needs 2 nodes and 1 is free.')).toBeTruthy();
    expect(why.getAttribute('aria-expanded')).toBe('true');
    fireEvent.click(why);
    expect(screen.queryByText('It needs 2 nodes and 1 is free.')).toBeNull();
    expect(props.onOpen).not.toHaveBeenCalled();
  });

  it('marks what is new in words, and counts it', () => {
    panel({ tasks: [aTask({ id: 7 }), aTask({ id: 8 })], fresh: new Set([7, 99]) });
    expect(within(screen.getByTestId('hai-task-row-7')).getByText('new').title).toBe(
      'Changed since you looked'
    );
    expect(screen.getByTestId('hai-task-row-8').textContent).not.toContain('new');
    expect(screen.getByText('1 new')).toBeTruthy();
  });

  it('says how many notifications are not read, and leads to them', () => {
    const props = panel({ unread: 120 });
    const bell = screen.getByRole('button', { name: 'Notifications of HAI: 120 are not read' });
    expect(bell.textContent).toBe('99+');
    fireEvent.click(bell);
    expect(props.onNotifications).toHaveBeenCalledOnce();
  });

  it('has a badge at a task whose GPUs idle, and at no other', () => {
    const since = new Date(Date.now() - 25 * 60_000).toISOString();
    panel({ tasks: [aTask({ id: 7, idle_gpus_since: since }), aTask({ id: 8 })] });
    const badge = within(screen.getByTestId('hai-task-row-7')).getByText('GPUs idle for 25 min');
    expect(badge.title).toMatch(/^Since .*\d\d:\d\d/);
    expect(screen.getByTestId('hai-task-row-8').textContent).not.toContain('idle');
  });

  it('draws a part of a thousand tasks, and more when asked', () => {
    panel({ tasks: Array.from({ length: 1000 }, (_, i) => aWaitingTask(i + 1, i + 1)) });
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(60);
    fireEvent.click(screen.getByText('Show more (940 left)'));
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(120);
    fireEvent.change(screen.getByLabelText('Filter tasks'), { target: { value: '#1000' } });
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(1);
  });

  it('lets tasks be chosen to compare them, two to eight', () => {
    const props = panel({ tasks: Array.from({ length: 9 }, (_, i) => aTask({ id: i + 1, name: `t${i}` })) });
    fireEvent.click(screen.getByText('Compare tasks'));
    const compare = screen.getByRole<HTMLButtonElement>('button', { name: 'Compare' });
    const boxes = screen.getAllByRole('checkbox');
    const able = boxes.map(box => (fireEvent.click(box), !compare.disabled));
    expect(able).toEqual([false, ...new Array<boolean>(7).fill(true), false]);
    fireEvent.click(screen.getByLabelText('Choose t4 (#5)'));
    fireEvent.click(compare);
    expect(props.onCompare).toHaveBeenCalledExactlyOnceWith([1, 2, 3, 4, 6, 7, 8, 9]);
    expect(screen.queryByRole('checkbox')).toBeNull();
  });

  it('shows the end of a long name, and the whole of it to those who point at it', () => {
    const name = 'digits-with-a-long-equal-beginning-seed-17';
    panel({ tasks: [aTask({ id: 7, name }), aTask({ id: 8, name: 'short 😀' })] });
    const shown = screen.getByTitle(name);
    expect([...shown.children].map(part => part.textContent)).toEqual([name.slice(0, -12), 'ning-seed-17']);
    expect(screen.getByTitle('short 😀').textContent).toBe('short 😀');
  });

  it('shows the latest ended tasks and those that are new; the others, when asked or looked for', () => {
    const ended_at = '2026-11-21T04:50:00Z';
    const ended = Array.from({ length: 50 }, (_, i) =>
      aTask({ id: 100 - i, name: `t${i}`, state: 'failed', ended_at })
    );
    panel({ tasks: [aTask({ id: 200 }), ...ended], fresh: new Set([93]) });
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(9);
    fireEvent.change(screen.getByLabelText('Filter tasks'), { target: { value: '#5' } });
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(9);
    fireEvent.change(screen.getByLabelText('Filter tasks'), { target: { value: '' } });
    fireEvent.click(screen.getByText('Show more (42 left)'));
    expect(screen.getAllByTestId(/^hai-task-row-/)).toHaveLength(51);
  });

  it('keeps what it knows when the platform is away, and says so', () => {
    panel({ error: 'It is away.', feed: 'lost', tasks: [aTask()] });
    expect(screen.getByRole('alert').textContent).toBe('It is away.');
    expect(screen.getByRole('status', { name: /No live connection/ })).toBeTruthy();
    expect(screen.getByTestId('hai-task-row-41')).toBeTruthy();
  });

  it('tells a new user what to do, and all users that the cluster is paused', () => {
    panel({ cluster: { ...cluster, paused: true } });
    expect(screen.getByText(/You have no tasks yet/)).toBeTruthy();
    expect(screen.getByText(/The cluster is paused/)).toBeTruthy();
  });

  it('says that nothing starts while the scheduler decides nothing, and nothing of it otherwise', () => {
    panel({ cluster: { ...cluster, standstill: 'The scheduling loop has not ticked for 43 s.' } });
    expect(screen.getByTestId('hai-cluster').textContent).toContain(
      'Nothing starts now, and running tasks go on. The scheduling loop has not ticked for 43 s.'
    );
    cleanup();
    panel();
    expect(screen.queryByText(/Nothing starts now/)).toBeNull();
  });
});

describe('a row', () => {
  const now = Date.parse('2026-11-21T05:00:00Z');

  it('tells the time that matters in its state', () => {
    expect(timeOf(aTask(), now)).toBe('50 min');
    expect(timeOf(aWaitingTask(1, 1), now)).toBe('1 h');
    expect(timeOf(aTask({ state: 'failed', ended_at: '2026-11-21T04:50:00Z' }), now)).toBe('10 min ago');
  });

  it('has no note when all is as expected', () => {
    expect(noteOf(aTask({ message: 'It runs.' }))).toBe('');
    expect(noteOf(aTask({ state: 'failed', message: 'Rank 0 exited with 1.' }))).toBe(
      'Rank 0 exited with 1.'
    );
  });

  it('is found by every word', () => {
    const tasks = [
      aTask({ id: 1, name: 'vit-base' }),
      aWaitingTask(2, 1, { name: 'vit-large', tags: ['nightly'] })
    ];
    expect(filterTasks(tasks, 'vit queued').map(task => task.id)).toEqual([2]);
    expect(filterTasks(tasks, 'NIGHTLY').map(task => task.id)).toEqual([2]);
    expect(filterTasks(tasks, ' ')).toHaveLength(2);
  });

  it('counts places as people do', () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 111].map(ordinal)).toEqual([
      '1st',
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '13th',
      '21st',
      '111th'
    ]);
  });
});
