/** The view of a task: its state, its use, its runs and its log. */

import type { JSX } from 'react';
import type { IApi } from '../../api/client';
import type { TaskAction } from '../../api/operations';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail, PriorityChoice } from '../../api/types';
import type { LogModel } from '../../models/log';
import type { PerformanceModel } from '../../models/performance';
import type { RecordingsModel } from '../../models/recordings';
import type { TaskModel } from '../../models/task';
import { isUnfinished } from '../../text/format';
import { useHost, type IQuestion } from '../host';
import { PerformanceView } from '../performance/View';
import { Notice, SaidOnce, useNow, useSignal } from '../react';
import { AgainButton } from './AgainButton';
import { BoardButton } from './BoardButton';
import { DecisionLog } from './DecisionLog';
import { Header } from './Header';
import { LogView } from './LogView';
import { Tabs } from './Tabs';
import { Timeline } from './Timeline';
import { stopWarning } from './actions';
import { trans } from '../../text/translate';

export const TASK_TABS = {
  log: () => trans.__('Runs and log'),
  performance: () => trans.__('Performance')
};
export type TaskTab = keyof typeof TASK_TABS;

/** The models of what a task view shows. */
export interface ITaskModels {
  model: TaskModel;
  log: LogModel;
  performance: PerformanceModel;
  recordings: RecordingsModel;
}

export interface ITaskViewProps extends ITaskModels {
  tab: TaskTab;
  onTab: (tab: TaskTab) => void;
  onChanged: (task: ITaskDetail) => void;
  /** Submits a task again, where the program around has no form. */
  api?: Pick<IApi, 'submit'>;
}

/** A task with all that is known of it. */
export function TaskView(props: ITaskViewProps): JSX.Element {
  return (
    <SaidOnce>
      <Task {...props} />
    </SaidOnce>
  );
}

function Task(props: ITaskViewProps): JSX.Element {
  const { model, log } = props;
  const host = useHost();
  useSignal(model.changed);
  const { task } = model;
  const now = useNow(1_000, task !== null && isUnfinished(task.state));
  const change = async (work: () => Promise<ITaskDetail>, what: string): Promise<void> => {
    try {
      props.onChanged(await work());
    } catch (error) {
      host.notify('error', `${what}: ${sentenceOf(error)}`);
    }
  };
  if (task === null) {
    return (
      <div className="hai-TaskView">
        {model.error === null ? (
          <p className="hai-Empty">{trans.__('Loading…')}</p>
        ) : (
          <Notice kind="error">{model.error}</Notice>
        )}
      </div>
    );
  }
  const act = async (action: TaskAction): Promise<void> => {
    if (action !== 'stop' || (await host.confirm(stopQuestion(task)))) {
      await change(() => model.act(action), trans.__('Task %1 could not be changed', task.id));
    }
  };
  const setPriority = (priority: PriorityChoice): Promise<void> =>
    change(
      () => model.setPriority(priority),
      trans.__('The priority of task %1 could not be changed', task.id)
    );
  return (
    <div className="hai-TaskView">
      {model.error !== null && <Notice kind="warning">{model.error}</Notice>}
      <Header
        task={task}
        whatIf={model.whatIf}
        facts={model.facts}
        curves={model.curves}
        now={now}
        busy={model.busy}
        onAct={action => void act(action)}
        onPriority={priority => void setPriority(priority)}
        tools={
          <>
            {task.runs.length > 0 && (
              <BoardButton key={task.id} task={task.id} running={task.state === 'running'} />
            )}
            <AgainButton api={props.api ?? null} task={task} />
          </>
        }
        onShowLog={rank => {
          props.onTab('log');
          log.open(rank);
        }}
      />
      <Tabs tabs={TASK_TABS} tab={props.tab} onTab={props.onTab} label={trans.__('Task %1', task.id)}>
        {props.tab === 'performance' ? (
          <PerformanceView model={props.performance} recordings={props.recordings} task={task} />
        ) : (
          <>
            <Timeline task={task} now={now} />
            <DecisionLog decisions={model.decisions} now={now} onShow={on => model.showDecisions(on)} />
            <LogView model={log} ranks={task.nodes} />
          </>
        )}
      </Tabs>
    </div>
  );
}

function stopQuestion(task: ITaskDetail): IQuestion {
  return {
    title: trans.__('Stop %1 (#%2)?', task.name, task.id),
    body: stopWarning(task),
    accept: trans.__('Stop it'),
    keep: trans.__('Keep it')
  };
}
