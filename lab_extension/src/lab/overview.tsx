/** The Lumino shell of the panel. */

import type { JSX } from 'react';
import { ReactWidget } from '@jupyterlab/apputils';
import type { ISignal } from '@lumino/signaling';
import type { Message } from '@lumino/messaging';
import type { ClusterModel } from '../models/cluster';
import type { Feed } from '../models/feed';
import { LookedAt } from '../models/looked';
import type { NotificationsModel } from '../models/notifications';
import type { TasksModel } from '../models/tasks';
import { haiIcon } from './icons';
import { useSignal } from '../components/react';
import { Panel } from '../components/overview/Panel';

export interface IOverviewOptions {
  tasks: TasksModel;
  cluster: ClusterModel;
  feed: Feed;
  notifications: NotificationsModel;
  /** Name of the open file that can be submitted, and when it changes. */
  file: { current: () => string | null; changed: ISignal<unknown, unknown> };
  onSubmit: () => void;
  onEnvironments: () => void;
  onNotifications: () => void;
  onOpen: (id: number) => void;
  onCompare: (ids: readonly number[]) => void;
}

/** The sidebar panel `hai-panel`. */
export class OverviewWidget extends ReactWidget {
  private readonly looked: LookedAt;

  constructor(private readonly options: IOverviewOptions) {
    super();
    this.looked = new LookedAt(options.tasks);
    this.id = 'hai-panel';
    this.addClass('hai-OverviewWidget');
    this.title.icon = haiIcon;
    this.title.caption = 'HAI';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'HAI');
  }

  override dispose(): void {
    document.removeEventListener('visibilitychange', this.follow);
    this.looked.dispose();
    super.dispose();
  }

  protected override render(): JSX.Element {
    return <Connected {...this.options} looked={this.looked} />;
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    document.addEventListener('visibilitychange', this.follow);
    this.follow();
  }

  protected override onBeforeDetach(msg: Message): void {
    document.removeEventListener('visibilitychange', this.follow);
    this.looked.look(false);
    super.onBeforeDetach(msg);
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this.follow();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this.follow();
  }

  /** The user sees the panel while it is shown in a tab that is. */
  private readonly follow = (): void => this.looked.look(this.isVisible && !document.hidden);
}

function Connected(props: IOverviewOptions & { looked: LookedAt }): JSX.Element {
  const { tasks, cluster, feed, file, looked, notifications } = props;
  useSignal(tasks.changed);
  useSignal(cluster.changed);
  useSignal(feed.statusChanged);
  useSignal(file.changed);
  useSignal(looked.changed);
  useSignal(notifications.changed);
  return (
    <Panel
      cluster={cluster.cluster}
      me={cluster.me}
      tasks={tasks.items}
      fresh={looked.fresh}
      unread={notifications.unread}
      ready={tasks.ready}
      error={tasks.error ?? cluster.error}
      feed={feed.status}
      file={file.current()}
      onSubmit={props.onSubmit}
      onEnvironments={props.onEnvironments}
      onNotifications={props.onNotifications}
      onOpen={id => {
        looked.open(id);
        props.onOpen(id);
      }}
      onCompare={props.onCompare}
      onRefresh={() => {
        feed.retry();
        void tasks.refresh();
        void cluster.refresh();
      }}
    />
  );
}
