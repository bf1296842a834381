/** Tasks beside each other: what differs is said in a column of its own, not by colour. */

import { useCallback, type JSX } from 'react';
import type { ITaskDetail } from '../../api/types';
import { askedFacts } from '../../text/asked';
import { joinCommand } from '../../text/commandLine';
import { duration, environmentText, moment, percent, size, snapshotText } from '../../text/format';
import { priorityOf, stateLabel } from '../../text/words';
import { trans } from '../../text/translate';
import { Reading, useAnswer } from '../react';
import { Table } from '../Table';
import { Sample } from '../performance/Chart';
import { CompareCharts } from './CompareCharts';
import { comparedQuery } from './compared';
import { useStudio } from './context';
import { Link } from './router';

/** What is compared: a word, and its text for a task. */
export function factsOf(task: ITaskDetail): [string, string][] {
  const { summary } = task.runs.at(-1) ?? { summary: null };
  const time = (at: string | null): string => (at === null ? '–' : moment(at));
  return [
    [trans.__('Name'), task.name],
    [trans.__('User'), task.user],
    [trans.__('State'), stateLabel(task)],
    [trans.__('Priority'), priorityOf(task)],
    [trans.__('Size'), size(task)],
    [trans.__('Node group'), task.group],
    [trans.__('Command'), joinCommand(task.command)],
    [trans.__('Folder'), task.cwd],
    [trans.__('Environment'), task.haienv ? environmentText(task.haienv) : (task.environment ?? '–')],
    [trans.__('Image'), task.image ?? '–'],
    [trans.__('Code'), task.snapshot ? snapshotText(task.snapshot) : trans.__('as it is at each start')],
    [
      trans.__('Variables'),
      Object.entries(task.env)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n') || '–'
    ],
    [trans.__('Secrets'), task.secrets.join('\n') || '–'],
    ...askedFacts(task, { all: true }),
    [trans.__('Submitted'), time(task.submitted_at)],
    [trans.__('Ended'), time(task.ended_at)],
    [trans.__('Running time'), duration(task.served_s)],
    [trans.__('Runs'), String(task.run_count)],
    [trans.__('Suspensions'), String(task.suspensions)],
    [trans.__('Step'), task.progress === null ? '–' : String(task.progress.step)],
    [trans.__('GPU use of the last run'), percent(summary?.gpu_use && summary.gpu_use.mean / 100)],
    [trans.__('Processor cores of the last run'), summary?.cpu ? summary.cpu.mean.toFixed(1) : '–']
  ];
}

export function Compare({ ids }: { ids: readonly number[] }): JSX.Element {
  const { api } = useStudio();
  const { value, error } = useAnswer(useCallback(() => Promise.all(ids.map(id => api.task(id))), [api, ids]));
  return (
    <div className="hai-Charts">
      <p className="hai-Crumbs">
        <Link to={{ page: 'tasks' }}>{trans.__('Tasks')}</Link> / {ids.join(', ')}
      </p>
      <h1>{trans._n('%1 task compared', '%1 tasks compared', ids.length)}</h1>
      <Reading error={error} ready={value !== null} />
      {value && (
        <>
          <CompareCharts tasks={value} />
          <Differences tasks={value} />
        </>
      )}
    </div>
  );
}

function Differences({ tasks }: { tasks: readonly ITaskDetail[] }): JSX.Element {
  const facts = tasks.map(factsOf);
  const ids = tasks.map(task => task.id);
  const rows = (facts[0] ?? []).map(([word], row) => {
    const texts = facts.map(each => each[row]?.[1] ?? '');
    return { word, texts, differs: texts.some(text => text !== texts[0]) };
  });
  return (
    <>
      <h2>{trans.__('What they are')}</h2>
      <Table
        className="hai-Table hai-Compare"
        testId="hai-compare"
        items={rows}
        keyOf={row => row.word}
        rowClass={row => (row.differs ? 'hai-mod-differs' : undefined)}
        columns={[
          { title: trans.__('What'), head: true, cell: row => row.word },
          ...tasks.map((task, place) => ({
            title: (
              <>
                <Sample look={place} /> <Link to={{ page: 'tasks', id: task.id }}>#{task.id}</Link>
                {tasks.length > 2 && (
                  <div>
                    <Link to={{ page: 'tasks', query: comparedQuery(ids.filter(id => id !== task.id)) }}>
                      {trans.__('Leave out')}
                    </Link>
                  </div>
                )}
              </>
            ),
            cell: (row: (typeof rows)[number]) => row.texts[place]
          })),
          { title: trans.__('Differs'), cell: row => (row.differs ? trans.__('differs') : '') }
        ]}
      />
    </>
  );
}
