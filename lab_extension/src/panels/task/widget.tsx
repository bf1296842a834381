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
import type { TaskModel } from '../../models/task';
import { Notice, useNow, useSignal } from '../react';
import { DecisionLog } from './DecisionLog';
import { Header } from './Header';
import { LogView } from './LogView';
import { Timeline } from './Timeline';
import { stopWarning } from './actions';

/** A task in the main area. It follows the log only while it can be seen. */
export class TaskWidget extends ReactWidget {
  constructor(
    readonly model: TaskModel,
    readonly log: LogModel,
    private readonly onChanged: (task: ITaskDetail) => void
  ) {
    super();
    this.addClass('hai-TaskWidget');
    this.title.icon = haiIcon;
    this.title.label = `Task ${model.id}`;
    this.title.closable = true;
    model.changed.connect(this.updateTitle, this);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.model.dispose();
      this.log.dispose();
    }
    super.dispose();
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    if (this.log.status !== 'ended') {
      this.log.open();
    }
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this.log.close();
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    void this.model.start();
    if (this.isVisible) {
      this.log.open();
    }
  }

  protected override render(): JSX.Element {
    return <Connected model={this.model} log={this.log} onChanged={this.onChanged} />;
  }

  private updateTitle(): void {
    const { task } = this.model;
    if (task) {
      this.title.label = task.name;
      this.title.caption = `Task ${task.id} (${task.state})`;
    }
  }
}

function Connected(props: {
  model: TaskModel;
  log: LogModel;
  onChanged: (task: ITaskDetail) => void;
}): JSX.Element {
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
        curves={model.curves}
        now={now}
        busy={model.busy}
        onAct={action => void act(action)}
        onPriority={priority => void setPriority(priority)}
        onShowLog={rank => log.open(rank)}
      />
      <Timeline task={task} now={now} />
      <DecisionLog decisions={model.decisions} now={now} onShow={on => model.showDecisions(on)} />
      <LogView model={log} ranks={task.nodes} />
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
