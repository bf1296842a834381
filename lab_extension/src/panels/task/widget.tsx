/** The Lumino shell of a task view. */

import type { JSX } from 'react';
import { Dialog, Notification, ReactWidget, showDialog } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import type { TaskAction } from '../../api/client';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail, PriorityChoice } from '../../api/types';
import { isUnfinished } from '../../format';
import { haiIcon } from '../../icons';
import type { LogModel } from '../../models/log';
import type { PerformanceModel } from '../../models/performance';
import type { RecordingsModel } from '../../models/recordings';
import type { TaskModel } from '../../models/task';
import { PerformanceView } from '../performance/View';
import { Notice, useNow, useSignal } from '../react';
import { DecisionLog } from './DecisionLog';
import { Header } from './Header';
import { LogView } from './LogView';
import { Tabs } from './Tabs';
import { Timeline } from './Timeline';
import { stopWarning } from './actions';

const TABS = { log: 'Runs and log', performance: 'Performance' } as const;
type TabName = keyof typeof TABS;

/** The models of what a task view shows. */
export interface ITaskModels {
  model: TaskModel;
  log: LogModel;
  performance: PerformanceModel;
  recordings: RecordingsModel;
}

/** A task in the main area. It follows the log, or the metrics, only while these can be seen. */
export class TaskWidget extends ReactWidget {
  readonly model: TaskModel;
  readonly log: LogModel;
  readonly performance: PerformanceModel;
  readonly recordings: RecordingsModel;
  private tab: TabName = 'log';

  constructor(
    models: ITaskModels,
    private readonly onChanged: (task: ITaskDetail) => void
  ) {
    super();
    this.model = models.model;
    this.log = models.log;
    this.performance = models.performance;
    this.recordings = models.recordings;
    this.addClass('hai-TaskWidget');
    this.title.icon = haiIcon;
    this.title.label = `Task ${this.model.id}`;
    this.title.closable = true;
    this.model.changed.connect(this.updateTitle, this);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.model.dispose();
      this.log.dispose();
      this.performance.dispose();
      this.recordings.dispose();
    }
    super.dispose();
  }

  /** Show one of the tabs. */
  showTab(tab: TabName): void {
    this.tab = tab;
    this.follow();
    this.update();
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this.follow();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this.follow();
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    void this.model.start();
    this.follow();
  }

  protected override render(): JSX.Element {
    return (
      <Connected
        model={this.model}
        log={this.log}
        performance={this.performance}
        recordings={this.recordings}
        tab={this.tab}
        onTab={tab => this.showTab(tab)}
        onChanged={this.onChanged}
      />
    );
  }

  /** Follow what can be seen, and nothing else: the browser has few connections to the server. */
  private follow(): void {
    this.performance.show(this.isVisible && this.tab === 'performance');
    this.recordings.show(this.isVisible && this.tab === 'performance');
    if (!this.isVisible || this.tab !== 'log') {
      this.log.close();
    } else if (this.log.status === 'idle') {
      this.log.open();
    }
  }

  private updateTitle(): void {
    const { task } = this.model;
    if (task) {
      this.title.label = task.name;
      this.title.caption = `Task ${task.id} (${task.state})`;
    }
  }
}

function Connected(
  props: ITaskModels & {
    tab: TabName;
    onTab: (tab: TabName) => void;
    onChanged: (task: ITaskDetail) => void;
  }
): JSX.Element {
  const { model, log } = props;
  useSignal(model.changed);
  const { task } = model;
  const now = useNow(1_000, task !== null && isUnfinished(task.state));
  const change = async (work: () => Promise<ITaskDetail>, what: string): Promise<void> => {
    try {
      props.onChanged(await work());
    } catch (error) {
      Notification.error(`${what}: ${sentenceOf(error)}`, { autoClose: 8_000 });
    }
  };
  if (task === null) {
    return (
      <div className="hai-TaskView">
        {model.error === null ? (
          <p className="hai-Empty">Loading…</p>
        ) : (
          <Notice kind="error">{model.error}</Notice>
        )}
      </div>
    );
  }
  const act = async (action: TaskAction): Promise<void> => {
    if (action !== 'stop' || (await mayStop(task))) {
      await change(() => model.act(action), `Task ${task.id} could not be changed`);
    }
  };
  const setPriority = (priority: PriorityChoice): Promise<void> =>
    change(() => model.setPriority(priority), `The priority of task ${task.id} could not be changed`);
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
        onShowLog={rank => {
          props.onTab('log');
          log.open(rank);
        }}
      />
      <Tabs tabs={TABS} tab={props.tab} onTab={props.onTab} label={`Task ${task.id}`}>
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

async function mayStop(task: ITaskDetail): Promise<boolean> {
  const { button } = await showDialog({
    title: `Stop ${task.name} (#${task.id})?`,
    body: stopWarning(task),
    // A hasty Enter must not end a task for good.
    defaultButton: 0,
    buttons: [Dialog.cancelButton({ label: 'Keep it' }), Dialog.warnButton({ label: 'Stop it' })]
  });
  return button.accept;
}
