/** The tasks as a table; with a number in the address one of them, with `compare` two beside each other. */

import { useDeferredValue, useMemo, useState, type JSX } from 'react';
import type { TaskAction } from '../../api/client';
import type { ITaskSummary } from '../../api/types';
import { TasksModel } from '../../models/tasks';
import { count, priorityLabel } from '../../text/words';
import { language, trans } from '../../text/translate';
import { Select } from '../Select';
import { useHost } from '../host';
import { Notice, useNow, useSignal } from '../react';
import { actionLabel, actOnAll, resultText, stopAll, suits } from './bulk';
import { columnsOf } from './columns';
import { Compare } from './Compare';
import { useModel, useStudio } from './context';
import { changeQuery, Link, useRouter, type Query } from './router';
import { nextSort, rowsOf, sortOf, STATES, type StateChoice } from './rows';
import { TaskPage } from './TaskPage';
import { VirtualTable } from './VirtualTable';

/** Pages of 200 that are read at most: more than twelve thousand tasks are not listed here. */
const PAGES = 60;
/** Ended tasks that are listed: the most that one answer has. */
const RECENT = 200;
/** Time between two readings of everything, in ms: changes come by themselves before. */
const READ_ALL = 120_000;
const ACTIONS: readonly TaskAction[] = ['suspend', 'hold', 'resume', 'stop'];
const PRIORITIES = [
  'EXTREME_HIGH',
  'VERY_HIGH',
  'HIGH',
  'ABOVE_NORMAL',
  'NORMAL',
  'BELOW_NORMAL',
  'LOW'
] as const;

export function TasksPage(): JSX.Element {
  const { cluster } = useStudio();
  const { id, query } = useRouter().route;
  useSignal(cluster.changed);
  if (id !== null) {
    return <TaskPage key={id} id={id} />;
  }
  const compared = (query.compare ?? '')
    .split(',')
    .map(Number)
    .filter(each => Number.isInteger(each) && each > 0);
  const [first, second] = compared;
  if (first !== undefined && second !== undefined) {
    return <Compare key={`${first},${second}`} first={first} second={second} />;
  }
  // Only admins may ask for those of others: the service refuses all others.
  const all = query.whose === 'all' && cluster.me?.admin === true;
  return <Tasks key={String(all)} all={all} />;
}

function Tasks({ all }: { all: boolean }): JSX.Element {
  const { api, cluster, feed } = useStudio();
  const router = useRouter();
  const [selected, setSelected] = useState<ReadonlySet<number | string>>(new Set());
  const now = useNow(15_000);
  const model = useModel(
    () =>
      new TasksModel(api, feed, 15_000, {
        pages: PAGES,
        recent: RECENT,
        live: READ_ALL,
        ...(all ? { user: '*' } : {})
      })
  );
  const { query } = router.route;
  // A keystroke is shown at once; ten thousand rows follow when there is time.
  const asked = useDeferredValue(query);
  const rows = useMemo(() => rowsOf(model.items, asked), [model.items, asked]);
  const chosen = rows.filter(task => selected.has(task.id));
  const columns = useMemo(
    () => columnsOf({ all, now, rows, selected, onSelect: setSelected }),
    [all, now, rows, selected]
  );
  return (
    <div className="hai-TasksPage">
      <header className="hai-Studio-head">
        <h1>{trans.__('Tasks')}</h1>
        <span className="hai-Soft" role="status">
          {model.ready
            ? trans.__('%1 of %2', rows.length.toLocaleString(language()), count(model.items.length, 'task'))
            : trans.__('Loading…')}
        </span>
      </header>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      <Filters
        query={query}
        admin={cluster.me?.admin === true}
        onChange={words => changeQuery(router, words)}
      />
      {chosen.length > 0 && <Actions chosen={chosen} model={model} onDone={() => setSelected(new Set())} />}
      {rows.length > 0 ? (
        <VirtualTable
          label={trans.__('Tasks')}
          testId="hai-tasks-table"
          columns={columns}
          items={rows}
          keyOf={task => task.id}
          sort={sortOf(query.sort)}
          onSort={by => changeQuery(router, { sort: nextSort(sortOf(query.sort), by) })}
          selected={selected}
        />
      ) : (
        model.ready && <Nothing none={model.items.length === 0} />
      )}
    </div>
  );
}

function Nothing({ none }: { none: boolean }): JSX.Element {
  return (
    <p className="hai-Empty">
      {none
        ? trans.__('There are no tasks yet. Submit one in JupyterLab, or with `hai submit`.')
        : trans.__('No task matches these filters.')}
    </p>
  );
}

function Filters(props: { query: Query; admin: boolean; onChange: (words: Query) => void }): JSX.Element {
  const { query, onChange } = props;
  const words: Record<StateChoice, string> = {
    live: trans.__('Not ended'),
    running: trans.__('Holding nodes'),
    waiting: trans.__('Waiting'),
    ended: trans.__('Ended'),
    failed: trans.__('Failed')
  };
  return (
    <div className="hai-Filters" role="search">
      <input
        className="hai-Filters-text jp-mod-styled"
        type="search"
        aria-label={trans.__('Filter tasks')}
        placeholder={trans.__('Name, number, tag, user…')}
        value={query.q ?? ''}
        onChange={event => onChange({ q: event.target.value })}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('State')}
        value={query.state ?? ''}
        onChange={event => onChange({ state: event.target.value })}
        options={[
          { value: '', label: trans.__('All states') },
          ...(Object.keys(STATES) as StateChoice[]).map(value => ({ value, label: words[value] }))
        ]}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('Priority')}
        value={query.priority ?? ''}
        onChange={event => onChange({ priority: event.target.value })}
        options={[
          { value: '', label: trans.__('All priorities') },
          ...PRIORITIES.map(value => ({ value, label: priorityLabel(value) }))
        ]}
      />
      {props.admin && (
        <Select
          className="hai-mod-small"
          aria-label={trans.__('Whose tasks')}
          value={query.whose ?? ''}
          onChange={event => onChange({ whose: event.target.value })}
          options={[
            { value: '', label: trans.__('My tasks') },
            { value: 'all', label: trans.__('Tasks of all users') }
          ]}
        />
      )}
    </div>
  );
}

/** What can be done to the chosen tasks. */
function Actions(props: {
  chosen: readonly ITaskSummary[];
  model: TasksModel;
  onDone: () => void;
}): JSX.Element {
  const { chosen, model } = props;
  const { api } = useStudio();
  const host = useHost();
  const [busy, setBusy] = useState(false);
  const act = async (action: TaskAction, tasks: readonly ITaskSummary[]): Promise<void> => {
    if (action === 'stop' && !(await host.confirm(stopAll(tasks)))) {
      return;
    }
    setBusy(true);
    const result = await actOnAll(api, action, tasks);
    setBusy(false);
    result.done.forEach(task => model.put(task));
    host.notify(result.failures.length > 0 ? 'error' : 'info', resultText(action, result));
    props.onDone();
  };
  const [one, other] = chosen;
  return (
    <div className="hai-Bulk" role="toolbar" aria-label={trans.__('Chosen tasks')}>
      <b>{trans._n('%1 chosen', '%1 chosen', chosen.length)}</b>
      {ACTIONS.map(action => {
        const tasks = chosen.filter(task => suits(action, task));
        return tasks.length === 0 ? null : (
          <button
            key={action}
            className={`hai-Button ${action === 'stop' ? 'hai-mod-danger' : ''}`}
            disabled={busy}
            onClick={() => void act(action, tasks)}
          >
            {actionLabel(action, tasks.length)}
          </button>
        );
      })}
      {one && other && chosen.length === 2 && (
        <Link className="hai-Button" to={{ page: 'tasks', query: { compare: `${one.id},${other.id}` } }}>
          {trans.__('Compare')}
        </Link>
      )}
      <button className="hai-Link" onClick={props.onDone}>
        {trans.__('Choose none')}
      </button>
    </div>
  );
}
