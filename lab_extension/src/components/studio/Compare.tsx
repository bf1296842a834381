/** Two tasks beside each other: what differs is said in a column of its own, not by colour. */

import { useEffect, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail } from '../../api/types';
import { joinCommand } from '../../text/commandLine';
import { duration, environmentText, moment, percent, size, snapshotText } from '../../text/format';
import { priorityOf, stateLabel } from '../../text/words';
import { trans } from '../../text/translate';
import { Notice } from '../react';
import { CompareCharts } from './CompareCharts';
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

export function Compare(props: { first: number; second: number }): JSX.Element {
  const { first, second } = props;
  const { api } = useStudio();
  const [tasks, setTasks] = useState<readonly ITaskDetail[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    Promise.all([api.task(first), api.task(second)]).then(setTasks, (reason: unknown) =>
      setError(sentenceOf(reason))
    );
  }, [api, first, second]);
  const [one, other] = tasks ?? [];
  return (
    <>
      <p className="hai-Crumbs">
        <Link to={{ page: 'tasks' }}>{trans.__('Tasks')}</Link> / {first}, {second}
      </p>
      <h1>{trans.__('Two tasks compared')}</h1>
      {error !== null && <Notice kind="error">{error}</Notice>}
      {tasks === null && error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {one && other && (
        <>
          <Differences one={one} other={other} />
          <CompareCharts one={one} other={other} />
        </>
      )}
    </>
  );
}

function Differences({ one, other }: { one: ITaskDetail; other: ITaskDetail }): JSX.Element {
  const others = factsOf(other);
  return (
    <table className="hai-Table hai-Compare" data-testid="hai-compare">
      <thead>
        <tr>
          <th scope="col">{trans.__('What')}</th>
          {[one, other].map(task => (
            <th key={task.id} scope="col">
              <Link to={{ page: 'tasks', id: task.id }}>#{task.id}</Link>
            </th>
          ))}
          <th scope="col">{trans.__('Differs')}</th>
        </tr>
      </thead>
      <tbody>
        {factsOf(one).map(([word, text], index) => {
          const second = others[index]?.[1] ?? '';
          const differs = text !== second;
          return (
            <tr key={word} {...(differs ? { className: 'hai-mod-differs' } : {})}>
              <th scope="row">{word}</th>
              <td>{text}</td>
              <td>{second}</td>
              <td>{differs ? trans.__('differs') : ''}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
