/** The user's tasks as rows; a limited number is drawn at once. */

import { memo, useCallback, useId, useState, type JSX } from 'react';
import type { ITaskSummary } from '../../api/types';
import { toggled } from '../../models/choice';
import { between, duration, isUnfinished, localTimes, progressText, relative, size } from '../../text/format';
import { count, isWaiting, priorityOf, numberText } from '../../text/words';
import { IdleBadge, StateBadge } from '../StateBadge';
import { Name, useNow } from '../react';
import { MOST_COMPARED } from '../studio/compared';
import { language, trans } from '../../text/translate';

/** Rows that are drawn at first, and more with each click. */
const STEP = 60;
/** Ended tasks that are drawn until the user asks for more. */
const FEW_ENDED = 5;

/** How many rows there are without the ended tasks that nobody needs now: those beyond the latest, and beyond what is new. */
export function rowsOfFew(tasks: readonly ITaskSummary[], fresh: ReadonlySet<number>): number {
  const live = tasks.findIndex(task => !isUnfinished(task.state));
  const newest = tasks.reduce((last, task, at) => (fresh.has(task.id) ? at : last), -1);
  return live < 0 ? tasks.length : Math.min(tasks.length, Math.max(live + FEW_ENDED, newest + 1));
}

/** Tasks whose name, number, state or tag holds every word. */
export function filterTasks(tasks: readonly ITaskSummary[], text: string): readonly ITaskSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    return tasks;
  }
  return tasks.filter(task => {
    const hay =
      `#${task.id} ${task.name} ${task.state} ${task.priority} ${task.tags.join(' ')}`.toLowerCase();
    return words.every(word => hay.includes(word));
  });
}

/** What time says about a task: how long it runs, since when it waits, when it ended. */
export function timeOf(task: ITaskSummary, now: number): string {
  if (task.ended_at !== null) {
    // The panel's clock ticks coarsely: what has just ended has not ended in the future.
    return relative(task.ended_at, Math.max(now, Date.parse(task.ended_at)));
  }
  if (task.running_since !== null && !isWaiting(task.state)) {
    return duration(between(task.running_since, now));
  }
  return duration(between(task.submitted_at, now));
}

/** The line below a name: why the task waits, or what is unusual. */
export function noteOf(task: ITaskSummary): string {
  if (isWaiting(task.state)) {
    return localTimes(task.message);
  }
  if (task.state === 'running' && task.progress !== null) {
    return progressText(task.progress);
  }
  return task.state === 'running' || task.state === 'succeeded' ? '' : localTimes(task.message);
}

export function TaskList(props: {
  tasks: readonly ITaskSummary[];
  /** Those that have changed since the user looked. */
  fresh: ReadonlySet<number>;
  onOpen: (id: number) => void;
  onCompare: (ids: readonly number[]) => void;
}): JSX.Element {
  const { tasks, onOpen } = props;
  const [text, setText] = useState('');
  const [most, setMost] = useState(STEP);
  const [all, setAll] = useState(false);
  /** The tasks to compare; null: none are chosen now. */
  const [chosen, setChosen] = useState<ReadonlySet<number> | null>(null);
  const choose = useCallback((id: number) => setChosen(before => before && toggled(before, id)), []);
  const now = useNow(15_000);
  const found = filterTasks(tasks, text);
  const few = all || text !== '' ? found.length : rowsOfFew(found, props.fresh);
  const shown = found.slice(0, Math.min(most, few));
  const firstEnded = shown.findIndex(task => !isUnfinished(task.state));
  return (
    <div data-testid="hai-tasks">
      {tasks.length > 6 && (
        <input
          className="hai-Filter jp-mod-styled"
          type="search"
          aria-label={trans.__('Filter tasks')}
          placeholder={trans.__('Filter %1', count(tasks.length, 'task'))}
          value={text}
          onChange={event => setText(event.target.value)}
        />
      )}
      {tasks.length > 1 && (
        <Choosing
          chosen={chosen}
          onChoose={setChosen}
          onCompare={ids => {
            setChosen(null);
            props.onCompare(ids);
          }}
        />
      )}
      <ul className="hai-Tasks" aria-label={trans.__('Your tasks')}>
        {shown.map((task, index) => (
          <TaskRow
            key={task.id}
            task={task}
            time={timeOf(task, now)}
            // Only of a row that shows it: the other rows are not drawn again when time goes on.
            idleNow={task.idle_gpus_since === null ? 0 : now}
            heading={index === firstEnded && index > 0 ? trans.__('Ended') : ''}
            fresh={props.fresh.has(task.id)}
            chosen={chosen?.has(task.id) ?? null}
            onChoose={choose}
            onOpen={onOpen}
          />
        ))}
      </ul>
      {found.length === 0 && <p className="hai-Empty">{trans.__('No task matches “%1”.', text)}</p>}
      {found.length > shown.length && (
        <button
          className="hai-Link"
          onClick={() => (shown.length < few ? setMost(most + STEP) : setAll(true))}
        >
          {trans.__('Show more (%1 left)', numberText(found.length - shown.length))}
        </button>
      )}
    </div>
  );
}

/** Begins a choice of tasks to compare, and ends it. */
function Choosing(props: {
  chosen: ReadonlySet<number> | null;
  onChoose: (chosen: ReadonlySet<number> | null) => void;
  onCompare: (ids: readonly number[]) => void;
}): JSX.Element {
  const { chosen, onChoose } = props;
  if (chosen === null) {
    return (
      <button className="hai-Link" onClick={() => onChoose(new Set())}>
        {trans.__('Compare tasks')}
      </button>
    );
  }
  const some = chosen.size > 1 && chosen.size <= MOST_COMPARED;
  return (
    <div className="hai-Tasks-choosing">
      <span role="status">
        {some
          ? trans._n('%1 chosen', '%1 chosen', chosen.size)
          : trans.__('Choose 2 to %1 tasks to compare them.', MOST_COMPARED)}
      </span>
      <button
        className="hai-Button hai-mod-small"
        disabled={!some}
        onClick={() => props.onCompare([...chosen])}
      >
        {trans.__('Compare')}
      </button>
      <button className="hai-Link" onClick={() => onChoose(null)}>
        {trans.__('Cancel')}
      </button>
    </div>
  );
}

interface IRowProps {
  task: ITaskSummary;
  time: string;
  idleNow: number;
  heading: string;
  fresh: boolean;
  /** Whether it is among the tasks to compare; null: none are chosen now. */
  chosen: boolean | null;
  onChoose: (id: number) => void;
  onOpen: (id: number) => void;
}

const TaskRow = memo(function TaskRow(props: IRowProps): JSX.Element {
  const { task, time, idleNow, heading, chosen, onOpen } = props;
  const id = useId();
  const [whole, setWhole] = useState(false);
  const note = noteOf(task);
  // A few words; why exactly is for those who ask.
  const few = isWaiting(task.state) && task.short !== null ? localTimes(task.short.text) : null;
  const position = isWaiting(task.state) ? task.verdict?.position : null;
  return (
    <li>
      {heading !== '' && <div className="hai-Tasks-heading">{heading}</div>}
      <div className="hai-TaskRow-around">
        <Box task={task} chosen={chosen} onChoose={props.onChoose} />
        <button
          className={`hai-TaskRow ${isUnfinished(task.state) ? '' : 'hai-mod-ended'}`}
          data-testid={`hai-task-row-${task.id}`}
          data-state={task.state}
          onClick={() => onOpen(task.id)}
        >
          <span className="hai-TaskRow-line">
            <Name className="hai-TaskRow-name" text={task.name} />
            <span className="hai-TaskRow-id">#{task.id}</span>
            {props.fresh && (
              <span className="hai-New" title={trans.__('Changed since you looked')}>
                {trans.__('new')}
              </span>
            )}
            <span className="hai-TaskRow-time">{time}</span>
          </span>
          <span className="hai-TaskRow-line hai-TaskRow-facts">
            <StateBadge task={task} />
            <span>{size(task)}</span>
            <span>{priorityOf(task)}</span>
            <IdleBadge task={task} now={idleNow} />
          </span>
          {note !== '' && (
            <span className={`hai-TaskRow-note ${few === null ? '' : 'hai-mod-short'}`}>
              {position ? (
                <>
                  <b>
                    {few === null
                      ? trans.__('%1 in line.', ordinal(position))
                      : trans.__('%1 in line:', ordinal(position))}
                  </b>{' '}
                </>
              ) : null}
              {few ?? note}
            </span>
          )}
        </button>
        {few !== null && (
          <button
            className="hai-Link hai-TaskRow-why"
            aria-expanded={whole}
            aria-controls={id}
            aria-label={trans.__('Why does %1 wait?', task.name)}
            onClick={() => setWhole(!whole)}
          >
            {trans.__('Why?')}
          </button>
        )}
      </div>
      <div id={id}>{whole && few !== null && <p className="hai-TaskRow-long">{note}</p>}</div>
    </li>
  );
});

function Box(props: Pick<IRowProps, 'task' | 'chosen' | 'onChoose'>): JSX.Element | null {
  const { task, chosen } = props;
  return chosen === null ? null : (
    <input
      type="checkbox"
      aria-label={trans.__('Choose %1 (#%2)', task.name, task.id)}
      checked={chosen}
      onChange={() => props.onChoose(task.id)}
    />
  );
}

/** `1st`, `2nd`, `13th` in English, the number alone in other languages: their texts have the word. */
export function ordinal(n: number): string {
  if (!language().startsWith('en')) {
    return numberText(n);
  }
  const ten = n % 100;
  const suffix = ten >= 11 && ten <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${suffix}`;
}
