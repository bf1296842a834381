/** The panel of the left sidebar: what the user sees of HAI all the time. */

import type { JSX, ReactNode } from 'react';
import type { ICluster, IMe, ITaskSummary } from '../../api/types';
import type { FeedStatus } from '../../models/feed';
import { isUnfinished } from '../../text/format';
import { Notice } from '../react';
import { ClusterView } from './ClusterView';
import { QuotaView, waitingForQuota } from './QuotaView';
import { TaskList } from './TaskList';
import { Icon } from '../icons';
import { trans } from '../../text/translate';
import { numberText } from '../../text/words';

export interface IPanelProps {
  cluster: ICluster | null;
  me: IMe | null;
  tasks: readonly ITaskSummary[];
  /** Tasks that have changed since the user looked. */
  fresh: ReadonlySet<number>;
  /** Notifications that are not read. */
  unread: number;
  ready: boolean;
  /** Why something could not be read; null: all is well. */
  error: string | null;
  feed: FeedStatus;
  /** Name of the open file that can be submitted; null: none. */
  file: string | null;
  onSubmit: () => void;
  onEnvironments: () => void;
  onNotifications: () => void;
  onOpen: (id: number) => void;
  onCompare: (ids: readonly number[]) => void;
  onRefresh: () => void;
}

const FEED_WORDS: Record<FeedStatus, () => string> = {
  connecting: () => trans.__('Connecting…'),
  live: () => trans.__('Live: changes are shown at once'),
  lost: () => trans.__('No live connection: reading again from time to time')
};

export function Panel(props: IPanelProps): JSX.Element {
  const { cluster, me, tasks, file, unread } = props;
  // JupyterLab has a bell, with a number of its own: what it has shown of all programs since the page was opened.
  const inbox =
    unread === 0
      ? trans.__('Notifications of HAI')
      : trans._n(
          'Notifications of HAI: %2 is not read',
          'Notifications of HAI: %2 are not read',
          unread,
          numberText(unread)
        );
  const unfinished = tasks.filter(task => isUnfinished(task.state)).length;
  return (
    <div className="hai-Panel">
      <header className="hai-Panel-header">
        <h2>{trans.__('HAI')}</h2>
        <span
          className={`hai-FeedDot hai-mod-${props.feed}`}
          role="status"
          aria-label={FEED_WORDS[props.feed]()}
          title={FEED_WORDS[props.feed]()}
        />
        <span className="hai-Spacer" />
        <button
          className="hai-IconButton"
          aria-label={inbox}
          title={inbox}
          data-testid="hai-notifications-open"
          onClick={props.onNotifications}
        >
          <Icon name="inbox" />
          {unread > 0 && <span className="hai-Badge">{unread > 99 ? '99+' : unread}</span>}
        </button>
        <button
          className="hai-IconButton"
          aria-label={trans.__('Environments')}
          title={trans.__('Environments')}
          data-testid="hai-environments-open"
          onClick={props.onEnvironments}
        >
          <Icon name="environment" />
        </button>
        <button
          className="hai-IconButton"
          aria-label={trans.__('Refresh')}
          title={trans.__('Refresh')}
          onClick={props.onRefresh}
        >
          <Icon name="refresh" />
        </button>
      </header>
      <div className="hai-Panel-submit">
        <button
          className="hai-Button hai-mod-primary hai-mod-wide"
          data-testid="hai-submit-open"
          onClick={props.onSubmit}
          title={file ? trans.__('Submit %1 as a task', file) : trans.__('Submit a command as a task')}
        >
          <Icon name="run" />
          <span className="hai-Ellipsis">{file ? trans.__('Submit %1', file) : trans.__('New task')}</span>
        </button>
      </div>
      {props.error !== null && <Notice kind="error">{props.error}</Notice>}
      {cluster && (
        <Section title={trans.__('Cluster')}>
          <ClusterView cluster={cluster} />
        </Section>
      )}
      {me && (
        <Section title={trans.__('Your quota')}>
          <QuotaView quota={me.quota} waiting={waitingForQuota(tasks)} />
        </Section>
      )}
      <Section
        title={trans.__('Your tasks')}
        {...(unfinished > 0 ? { badge: String(unfinished) } : {})}
        fresh={tasks.filter(task => props.fresh.has(task.id)).length}
      >
        {tasks.length > 0 && (
          <TaskList tasks={tasks} fresh={props.fresh} onOpen={props.onOpen} onCompare={props.onCompare} />
        )}
        {tasks.length === 0 && props.ready && (
          <p className="hai-Empty">
            {trans.__(
              'You have no tasks yet. Open a script or a notebook and submit it: it runs on the cluster, waits for its turn and goes on where it stopped.'
            )}
          </p>
        )}
        {tasks.length === 0 && !props.ready && props.error === null && (
          <p className="hai-Empty">{trans.__('Loading…')}</p>
        )}
      </Section>
    </div>
  );
}

function Section(props: { title: string; badge?: string; fresh?: number; children: ReactNode }): JSX.Element {
  return (
    <details className="hai-Section" open>
      <summary>
        <span>{props.title}</span>
        {props.badge !== undefined && (
          <span className="hai-Badge" title={trans.__('%1 unfinished', props.badge)}>
            {props.badge}
          </span>
        )}
        {props.fresh !== undefined && props.fresh > 0 && (
          <span className="hai-New" title={trans.__('Changed since you looked')}>
            {trans.__('%1 new', props.fresh)}
          </span>
        )}
      </summary>
      {props.children}
    </details>
  );
}
