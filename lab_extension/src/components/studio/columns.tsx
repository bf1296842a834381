/** The columns of the table of tasks. */

import { useState, type JSX, type ReactNode } from 'react';
import type { ITaskSummary } from '../../api/types';
import { duration } from '../../text/format';
import { isWaiting, priorityOf } from '../../text/words';
import { trans } from '../../text/translate';
import { StateBadge } from '../StateBadge';
import { noteOf, ordinal, timeOf } from '../overview/TaskList';
import { valueText, type Unit } from '../performance/units';
import { Name } from '../react';
import { Link } from './router';
import { Tags, TagsField } from './Tags';
import type { IColumn } from './VirtualTable';

export interface IColumnOptions {
  /** Whether the tasks are of all users. */
  all: boolean;
  now: number;
  /** Whether there is room for the name alone: then the state is below it. */
  narrow: boolean;
  /** A task is chosen, or no longer. */
  onChoose: (task: ITaskSummary) => void;
  onTags: (task: ITaskSummary, tags: readonly string[]) => void;
  onTag: (tag: string) => void;
  onStar: (task: ITaskSummary) => void;
}

/** They depend on nothing that changes with each event: a row is then drawn again only when its task has changed. */
export function columnsOf(options: IColumnOptions): IColumn<ITaskSummary>[] {
  const { all, now, narrow } = options;
  const columns = [
    {
      id: 'choice',
      title: trans.__('Choose'),
      width: '32px',
      cell: (task, selected) => (
        <input
          type="checkbox"
          aria-label={trans.__('Choose %1 (#%2)', task.name, task.id)}
          checked={selected}
          onChange={() => options.onChoose(task)}
        />
      )
    },
    {
      id: 'id',
      title: '#',
      sorts: true,
      width: '56px',
      number: true,
      cell: task => <Link to={{ page: 'tasks', id: task.id }}>{task.id}</Link>
    },
    {
      id: 'star',
      title: trans.__('Star'),
      width: '34px',
      cell: task => (
        <button
          className="hai-Star"
          aria-pressed={task.starred === true}
          aria-label={trans.__('Star %1 (#%2)', task.name, task.id)}
          onClick={() => options.onStar(task)}
        >
          <span aria-hidden="true">{task.starred === true ? '★' : '☆'}</span>
        </button>
      )
    },
    {
      id: 'name',
      title: trans.__('Name'),
      sorts: true,
      width: narrow ? 'auto' : '18%',
      cell: task => (
        <>
          <NameCell task={task} onTags={options.onTags} onTag={options.onTag} />
          {narrow && (
            <div className="hai-Table-below">
              <StateBadge task={task} /> {timeOf(task, now)}
            </div>
          )}
        </>
      )
    },
    ...(all
      ? [
          {
            id: 'user',
            title: trans.__('User'),
            sorts: true,
            width: '110px',
            cell: (task: ITaskSummary) => task.user
          }
        ]
      : []),
    {
      id: 'state',
      title: trans.__('State'),
      sorts: true,
      width: '142px',
      cell: task => <StateBadge task={task} />
    },
    {
      id: 'priority',
      title: trans.__('Priority'),
      sorts: true,
      width: '98px',
      cell: priorityOf
    },
    { id: 'group', title: trans.__('Group'), sorts: true, width: '90px', cell: task => task.group },
    {
      id: 'nodes',
      title: trans.__('Nodes'),
      sorts: true,
      width: '88px',
      number: true,
      cell: task => (task.gpus === null ? task.nodes : trans.__('%1 × %2 GPU', task.nodes, task.gpus))
    },
    {
      id: 'ended',
      title: trans.__('Time'),
      sorts: true,
      width: '94px',
      number: true,
      cell: task => timeOf(task, now)
    },
    {
      id: 'ran',
      title: trans.__('Served'),
      sorts: true,
      width: '104px',
      number: true,
      cell: task => duration(task.served_s)
    },
    used(trans.__('GPU use'), 'gpu_use', '%'),
    used(trans.__('GPU memory'), 'gpu_memory', 'bytes'),
    {
      id: 'note',
      title: trans.__('What it does, or waits for'),
      width: 'auto',
      cell: task => {
        const note = noteOf(task);
        return <span title={note}>{whatOf(task, note)}</span>;
      }
    }
  ] satisfies IColumn<ITaskSummary>[];
  return narrow ? columns.filter(({ id }) => id === 'choice' || id === 'name') : columns;
}

/** What the run of a task uses now, or its latest run used. */
function used(title: string, key: 'gpu_use' | 'gpu_memory', unit: Unit): IColumn<ITaskSummary> {
  return {
    id: key,
    title,
    width: '96px',
    number: true,
    cell: task => {
      const value = task.use?.[key] ?? null;
      return value === null ? '–' : valueText(value, unit);
    }
  };
}

/** What the heads show in place of their titles: one of them chooses all. */
export function headsOf(all: boolean, onAll: (all: boolean) => void): Record<string, ReactNode> {
  return {
    choice: (
      <input type="checkbox" aria-label={trans.__('Choose all')} checked={all} onChange={() => onAll(!all)} />
    ),
    star: <span className="hai-Hidden">{trans.__('Star')}</span>
  };
}

/** The name of a task and its tags, which can be edited there. */
function NameCell(props: { task: ITaskSummary } & Pick<IColumnOptions, 'onTags' | 'onTag'>): JSX.Element {
  const { task } = props;
  const [editing, setEditing] = useState(false);
  if (editing) {
    return (
      <TagsField
        task={task}
        onSave={tags => {
          setEditing(false);
          props.onTags(task, tags);
        }}
        onLeave={() => setEditing(false)}
      />
    );
  }
  return (
    <span title={task.name}>
      <Link className="hai-Table-name" to={{ page: 'tasks', id: task.id }}>
        <Name text={task.name} />
      </Link>
      <Tags task={task} onFind={props.onTag} onEdit={() => setEditing(true)} />
    </span>
  );
}

/** One line on a task: its place and why it waits, how far it is, or what is unusual. */
export function whatOf(task: ITaskSummary, note: string = noteOf(task)): string {
  const position = isWaiting(task.state) ? task.verdict?.position : null;
  return position ? trans.__('%1 in line. %2', ordinal(position), note) : note;
}
