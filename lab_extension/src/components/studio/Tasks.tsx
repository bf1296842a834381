/** The tasks as a table; with a number in the address one of them, with `compare` several beside each other. */

import {
  useCallback,
  useEffect,
  useMemo,
  useState,
  type Dispatch,
  type JSX,
  type SetStateAction
} from 'react';
import { sentenceOf } from '../../api/request';
import type { ITaskSummary } from '../../api/types';
import { toggled } from '../../models/choice';
import { TaskPagesModel } from '../../models/taskPages';
import { count, numberText } from '../../text/words';
import { trans } from '../../text/translate';
import { useHost } from '../host';
import { Notice, useNarrow, useNow, useSignal } from '../react';
import { commandOf } from './bulk';
import { columnsOf, headsOf } from './columns';
import { Compare } from './Compare';
import { comparedIn } from './compared';
import { useModel, useStudio } from './context';
import { changeQuery, useRouter, type Query } from './router';
import { FILTERS, nextSort, sortOf, taskQuery } from './rows';
import { Results, TaskActions, type IDone } from './TaskActions';
import { TaskFilters } from './TaskFilters';
import { TaskPage } from './TaskPage';
import { VirtualTable } from './VirtualTable';

export function TasksPage(): JSX.Element {
  const { cluster } = useStudio();
  const { id, query } = useRouter().route;
  useSignal(cluster.changed);
  const compared = useMemo(() => comparedIn(query.compare), [query.compare]);
  if (id !== null) {
    return <TaskPage key={id} id={id} />;
  }
  if (compared.length > 1) {
    return <Compare key={query.compare ?? ''} ids={compared} />;
  }
  // Only admins may ask for those of others: the service refuses all others.
  const all = query.whose === 'all' && cluster.me?.admin === true;
  return <Tasks key={String(all)} all={all} />;
}

function Tasks({ all }: { all: boolean }): JSX.Element {
  const { api, cluster, feed } = useStudio();
  const host = useHost();
  const router = useRouter();
  const { query } = router.route;
  const [done, setDone] = useState<IDone | null>(null);
  const now = useNow(15_000);
  const narrow = useNarrow();
  const model = useModel(() => new TaskPagesModel(api, feed, taskQuery(query, all)));
  useEffect(() => model.ask(taskQuery(query, all)), [model, query, all]);
  useEffect(() => (all ? feed.hearAll() : undefined), [feed, all]);
  const rows = model.items;
  const { selected, chosen, choosing, everything, setSelected, chooseAll } = useChosen(model, query);
  const need = useCallback((row: number) => model.need(row), [model]);
  const columns = useMemo(() => {
    const change = async (work: Promise<void>): Promise<void> => {
      try {
        await work;
      } catch (error) {
        host.notify('error', sentenceOf(error));
      }
    };
    return columnsOf({
      all,
      now,
      narrow,
      onChoose: task => setSelected(before => toggled(before, task.id)),
      onTags: (task: ITaskSummary, tags) => void change(model.setTags(task.id, tags)),
      onTag: tag => changeQuery(router, { tag }),
      onStar: task => void change(model.setStar(task.id, task.starred !== true))
    });
  }, [all, now, narrow, model, router, host, setSelected]);
  const total = model.total ?? rows.length;
  return (
    <div className="hai-TasksPage">
      <Head model={model} total={total} />
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      <TaskFilters
        query={query}
        groups={cluster.cluster?.groups.map(group => group.group) ?? []}
        admin={cluster.me?.admin === true}
        onChange={words => changeQuery(router, words)}
      />
      {done && <Results done={done} onClose={() => setDone(null)} />}
      {choosing && <p role="status">{trans.__('Reading all %1 to choose them…', count(total, 'task'))}</p>}
      {chosen.length > 0 && !choosing && (
        <TaskActions
          chosen={chosen}
          command={everything ? commandOf(query) : null}
          onDone={what => {
            what.outcomes.forEach(each => each.now && model.put(each.now));
            setDone(what);
            setSelected(new Set());
          }}
          onNone={() => setSelected(new Set())}
        />
      )}
      {rows.length > 0 ? (
        <VirtualTable
          label={trans.__('Tasks')}
          testId="hai-tasks-table"
          columns={columns}
          heads={headsOf(everything, chooseAll)}
          items={rows}
          total={total}
          onNeed={need}
          topWhen={JSON.stringify(taskQuery(query, all))}
          keyOf={task => task.id}
          nameOf={task => task.name}
          sort={sortOf(query.sort)}
          onSort={by => changeQuery(router, { sort: nextSort(sortOf(query.sort), by) })}
          selected={selected}
          {...(narrow ? { rowHeight: 52 } : {})}
        />
      ) : (
        model.ready && !model.pending && <Nothing none={FILTERS.every(word => query[word] === undefined)} />
      )}
    </div>
  );
}

function Head({ model, total }: { model: TaskPagesModel; total: number }): JSX.Element {
  const read = model.items.length;
  return (
    <header className="hai-Studio-head">
      <h1>{trans.__('Tasks')}</h1>
      <span className="hai-Soft" role="status">
        {model.ready && !model.pending ? count(total, 'task') : trans.__('Loading…')}
      </span>
      {model.ready && read < total && (
        <span className="hai-Soft">{trans.__('%1 read so far', numberText(read))}</span>
      )}
    </header>
  );
}

/** Which tasks of the list are chosen. */
interface IChosen {
  selected: ReadonlySet<number | string>;
  chosen: readonly ITaskSummary[];
  /** Whether all that match are to be chosen, which must be read before. */
  choosing: boolean;
  /** Whether these are all that match. */
  everything: boolean;
  setSelected: Dispatch<SetStateAction<ReadonlySet<number | string>>>;
  chooseAll: (all: boolean) => void;
}

function useChosen(model: TaskPagesModel, query: Query): IChosen {
  const [selected, setSelected] = useState<ReadonlySet<number | string>>(new Set());
  const [choosing, setChoosing] = useState(false);
  const { items } = model;
  const total = model.total ?? items.length;
  const read = model.ready && !model.pending && items.length >= total;
  useEffect(() => {
    if (choosing && read) {
      setSelected(new Set(items.map(task => task.id)));
      setChoosing(false);
    } else if (choosing) {
      model.need(total);
    }
  }, [choosing, read, items, total, model]);
  useEffect(() => setChoosing(false), [query]);
  const chosen = selected.size === 0 ? [] : items.filter(task => selected.has(task.id));
  const everything = choosing || (read && chosen.length > 0 && chosen.length === items.length);
  const chooseAll = (all: boolean): void => (all ? setChoosing(true) : setSelected(new Set()));
  return { selected, chosen, choosing, everything, setSelected, chooseAll };
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
