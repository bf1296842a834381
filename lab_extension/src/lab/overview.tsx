/** The Lumino shell of the panel. */

import type { JSX } from 'react';
import { ReactWidget } from '@jupyterlab/apputils';
import type { ISignal } from '@lumino/signaling';
import type { ClusterModel } from '../models/cluster';
import type { Feed } from '../models/feed';
import type { TasksModel } from '../models/tasks';
import { haiIcon } from './icons';
import { useSignal } from '../components/react';
import { Panel } from '../components/overview/Panel';

export interface IOverviewOptions {
  tasks: TasksModel;
  cluster: ClusterModel;
  feed: Feed;
  /** Name of the open file that can be submitted, and when it changes. */
  file: { current: () => string | null; changed: ISignal<unknown, unknown> };
  onSubmit: () => void;
  onEnvironments: () => void;
  onOpen: (id: number) => void;
}

/** The sidebar panel `hai-panel`. */
export class OverviewWidget extends ReactWidget {
  constructor(private readonly options: IOverviewOptions) {
    super();
    this.id = 'hai-panel';
    this.addClass('hai-OverviewWidget');
    this.title.icon = haiIcon;
    this.title.caption = 'HAI';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'HAI');
  }

  protected override render(): JSX.Element {
    return <Connected {...this.options} />;
  }
}

function Connected(props: IOverviewOptions): JSX.Element {
  const { tasks, cluster, feed, file } = props;
  useSignal(tasks.changed);
  useSignal(cluster.changed);
  useSignal(feed.statusChanged);
  useSignal(file.changed);
  return (
    <Panel
      cluster={cluster.cluster}
      me={cluster.me}
      tasks={tasks.items}
      ready={tasks.ready}
      error={tasks.error ?? cluster.error}
      feed={feed.status}
      file={file.current()}
      onSubmit={props.onSubmit}
      onEnvironments={props.onEnvironments}
      onOpen={props.onOpen}
      onRefresh={() => {
        feed.retry();
        void tasks.refresh();
        void cluster.refresh();
      }}
    />
  );
}
