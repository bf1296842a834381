/** The Lumino shell of a task view. */

import type { JSX } from 'react';
import { ReactWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import type { ITaskDetail } from '../api/types';
import { HostProvider, type IHost } from '../components/host';
import { TaskView, type ITaskModels, type TaskTab } from '../components/task/TaskView';
import type { LogModel } from '../models/log';
import type { PerformanceModel } from '../models/performance';
import type { RecordingsModel } from '../models/recordings';
import type { TaskModel } from '../models/task';
import { haiIcon } from './icons';
import { trans } from '../text/translate';
import { stateLabel } from '../text/words';

/** A task in the main area. It follows the log, or the metrics, only while these can be seen. */
export class TaskWidget extends ReactWidget {
  readonly model: TaskModel;
  readonly log: LogModel;
  readonly performance: PerformanceModel;
  readonly recordings: RecordingsModel;
  private tab: TaskTab = 'log';

  constructor(
    models: ITaskModels,
    private readonly host: IHost,
    private readonly onChanged: (task: ITaskDetail) => void
  ) {
    super();
    this.model = models.model;
    this.log = models.log;
    this.performance = models.performance;
    this.recordings = models.recordings;
    this.addClass('hai-TaskWidget');
    this.title.icon = haiIcon;
    this.title.label = trans.__('Task %1', this.model.id);
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
  showTab(tab: TaskTab): void {
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
      <HostProvider value={this.host}>
        <TaskView
          model={this.model}
          log={this.log}
          performance={this.performance}
          recordings={this.recordings}
          tab={this.tab}
          onTab={tab => this.showTab(tab)}
          onChanged={this.onChanged}
        />
      </HostProvider>
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
      this.title.caption = trans.__('Task %1 (%2)', task.id, stateLabel(task));
    }
  }
}
