/** The head of a task view: what it is, what it does, why it waits, and what can be done. */

import type { JSX, ReactNode } from 'react';
import type { TaskAction } from '../../api/operations';
import { PRIORITIES } from '../../api/constants';
import type { ITaskDetail, IWhatIf, PriorityChoice } from '../../api/types';
import { askedFacts } from '../../text/asked';
import { shownCommand } from '../../text/batch';
import {
  between,
  duration,
  environmentText,
  imageText,
  isUnfinished,
  localTimes,
  moment,
  nodeList,
  relative,
  size,
  snapshotText
} from '../../text/format';
import { isWaiting, priorityLabel, priorityOf, numberText } from '../../text/words';
import type { ICurve } from '../../models/curves';
import { Notice } from '../react';
import { IdleBadge, StateBadge } from '../StateBadge';
import { FirstFailure } from './FirstFailure';
import { Reported } from './Reported';
import { actionsOf } from './actions';
import { Select } from '../Select';
import { trans } from '../../text/translate';

export interface IHeaderProps {
  task: ITaskDetail;
  /** What would let it start, while it waits. */
  whatIf: readonly IWhatIf[];
  /** Sentences about budgets and the share of its user, while it waits. */
  facts?: readonly string[];
  /** The numbers that its job reports. */
  curves?: readonly ICurve[];
  now: number;
  busy: boolean;
  onAct: (action: TaskAction) => void;
  onPriority: (priority: PriorityChoice) => void;
  /** Further buttons, before those that change the task. */
  tools?: ReactNode;
  /** Shows the log of a rank. */
  onShowLog?: (rank: number) => void;
}

/** What all its turns go on with: the image, the environment and the code of the submission. */
function Pins({ task }: { task: ITaskDetail }): JSX.Element {
  return (
    <>
      {task.image !== null && (
        <Fact label={trans.__('Image')} wide>
          <span title={task.image}>
            {task.environment !== null
              ? `${task.environment} (${imageText(task.image)})`
              : imageText(task.image)}
          </span>
        </Fact>
      )}
      {task.haienv !== null && (
        <Fact label={trans.__('Environment')} wide>
          <span title={`${trans.__('Python %1', task.haienv.python)}\n${task.haienv.digest}`}>
            {environmentText(task.haienv)}
          </span>
        </Fact>
      )}
      {task.secrets.length > 0 && (
        <Fact label={trans.__('Secrets')} wide>
          {task.secrets.join(', ')}
        </Fact>
      )}
      {task.snapshot !== null && (
        <Fact label={trans.__('Snapshot')} wide>
          <span title={`${task.snapshot.digest}\n${trans._p('folder', 'of %1', task.cwd)}`}>
            {snapshotText(task.snapshot)}
          </span>
        </Fact>
      )}
    </>
  );
}

export function Header(props: IHeaderProps): JSX.Element {
  const { task, now, busy } = props;
  const command = shownCommand(task.command);
  return (
    <header className="hai-TaskHeader">
      <div className="hai-TaskHeader-top">
        <h2 title={task.name}>{task.name}</h2>
        <span className="hai-TaskHeader-id">#{task.id}</span>
        <StateBadge task={task} testId="hai-task-state" />
        <IdleBadge task={task} now={now} testId="hai-idle-gpus" />
        <span className="hai-Spacer" />
        {props.tools}
        {actionsOf(task).map(({ action, label, hint }) => (
          <button
            key={action}
            className={`hai-Button ${action === 'stop' ? 'hai-mod-danger' : ''}`}
            data-testid={`hai-${action}`}
            title={hint}
            disabled={busy}
            onClick={() => props.onAct(action)}
          >
            {label}
          </button>
        ))}
      </div>
      <Why task={task} whatIf={props.whatIf} facts={props.facts ?? []} now={now} />
      {task.hint !== null && (
        <div data-testid="hai-task-hint">
          <Notice kind="warning">{task.hint}</Notice>
        </div>
      )}
      <Reported task={task} curves={props.curves ?? []} />
      {task.failure && <FirstFailure failure={task.failure} onShow={props.onShowLog} />}
      <dl className="hai-Facts">
        <Fact label={trans.__('Priority')}>
          {isUnfinished(task.state) ? (
            <PrioritySelect task={task} busy={busy} onChange={props.onPriority} />
          ) : (
            priorityOf(task)
          )}
        </Fact>
        <Fact label={trans.__('Nodes')}>
          {trans.__('%1 in %2', size(task), task.group)}
          {task.node_names.length > 0 && (
            <span className="hai-Soft" title={task.node_names.join(', ')}>
              {' '}
              ({nodeList(task.node_names)})
            </span>
          )}
        </Fact>
        <Fact label={trans.__('Submitted')}>
          <span title={moment(task.submitted_at, now)}>{relative(task.submitted_at, now)}</span>
        </Fact>
        <Fact label={task.ended_at === null ? trans.__('Served') : trans.__('Ran')}>
          {duration(servedNow(task, now))}
          {task.time_limit_s !== null && (
            <span className="hai-Soft">{` ${trans.__('of %1', duration(task.time_limit_s))}`}</span>
          )}
        </Fact>
        <Fact label={trans.__('Saved')}>
          {task.checkpoint === null ? (
            <span className="hai-Soft">
              {isUnfinished(task.state) ? trans.__('not yet') : trans.__('never')}
            </span>
          ) : (
            <span title={task.checkpoint.path ?? moment(task.checkpoint.at, now)}>
              {task.checkpoint.source === 'seen'
                ? trans.__('seen %1', relative(task.checkpoint.at, now))
                : relative(task.checkpoint.at, now)}
              {task.checkpoint.step !== null && `, ${trans.__('step %1', numberText(task.checkpoint.step))}`}
            </span>
          )}
        </Fact>
        {task.job_state !== null && <Fact label={trans.__('Job says')}>{task.job_state}</Fact>}
        {askedFacts(task).map(([label, text]) => (
          <Fact key={label} label={label}>
            {text}
          </Fact>
        ))}
        <Fact label={trans.__('Command')} wide>
          <code
            title={
              command.whole === command.text
                ? trans._p('folder', 'in %1', task.cwd)
                : `${trans._p('folder', 'in %1', task.cwd)}\n\n${command.whole}`
            }
          >
            {command.text}
          </code>
        </Fact>
        <Pins task={task} />
      </dl>
    </header>
  );
}

/** Running time so far; the service counts it up to its last look, the clock of the page from there. */
function servedNow(task: ITaskDetail, now: number): number {
  const run = task.runs.at(-1);
  if (!run?.running_at || run.ended_at !== null) {
    return task.served_s;
  }
  const earlier = task.runs
    .slice(0, -1)
    .reduce(
      (sum, each) => sum + (each.running_at && each.ended_at ? between(each.running_at, each.ended_at) : 0),
      0
    );
  return Math.max(task.served_s, earlier + between(run.running_at, now));
}

function Why(props: {
  task: ITaskDetail;
  whatIf: readonly IWhatIf[];
  facts: readonly string[];
  now: number;
}): JSX.Element | null {
  const { task, now } = props;
  const verdict = isWaiting(task.state) ? task.verdict : null;
  const sentence = localTimes(task.message, now);
  if (sentence === '') {
    return null;
  }
  return (
    <div className={`hai-Why ${verdict ? 'hai-mod-waiting' : ''}`} data-testid="hai-task-why" role="status">
      <span>{sentence}</span>
      {verdict?.position ? (
        <span className="hai-Why-fact">
          {trans.__('Place in line')} <b>{verdict.position}</b>
        </span>
      ) : null}
      {verdict?.earliest_start ? (
        <span className="hai-Why-fact" title={moment(verdict.earliest_start, now)}>
          {trans.__('Earliest start')} <b>{startText(verdict.earliest_start, now)}</b>
        </span>
      ) : null}
      {task.deadline !== null && (
        <span className="hai-Why-fact">
          {trans.__('Time to save')} <b>{duration(Math.max(0, -between(task.deadline, now)))}</b>
        </span>
      )}
      {verdict && props.facts.map(fact => <span key={fact}>{fact}</span>)}
      {verdict && props.whatIf.length > 0 && (
        <ul
          className="hai-WhatIf"
          data-testid="hai-task-what-if"
          aria-label={trans.__('What would let it start')}
        >
          {props.whatIf.map(change => (
            <li key={change.kind}>{localTimes(change.sentence, now)}</li>
          ))}
        </ul>
      )}
      {verdict && verdict.holders.length > 0 && (
        <details className="hai-Holders">
          <summary>{trans.__('Who holds the nodes')}</summary>
          <ul>
            {verdict.holders.map(holder => (
              <li key={holder.task_id}>
                #{holder.task_id} {holder.name} ({holder.user}): {size(holder)},{' '}
                {priorityLabel(holder.priority)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function startText(at: string, now: number): string {
  return between(at, now) >= -5 ? trans.__('any moment') : relative(at, now);
}

function PrioritySelect(props: {
  task: ITaskDetail;
  busy: boolean;
  onChange: (priority: PriorityChoice) => void;
}): JSX.Element {
  const { task } = props;
  const auto =
    task.priority === 'AUTO' && task.effective_priority
      ? trans.__('Auto (now %1)', priorityLabel(task.effective_priority))
      : trans.__('Auto');
  return (
    <Select
      className="hai-Select hai-mod-small"
      aria-label={trans.__('Priority')}
      data-testid="hai-priority"
      value={task.priority}
      disabled={props.busy}
      onChange={event => props.onChange(event.target.value as PriorityChoice)}
      options={[
        { value: 'AUTO', label: auto },
        ...PRIORITIES.map(priority => ({ value: priority, label: priorityLabel(priority) }))
      ]}
    />
  );
}

function Fact(props: { label: string; wide?: boolean; children: ReactNode }): JSX.Element {
  return (
    <div className={props.wide ? 'hai-Fact hai-mod-wide' : 'hai-Fact'}>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
