/** What the user was told, the newest first, with what is not read yet. */

import type { JSX } from 'react';
import { sentenceOf } from '../../../api/request';
import type { INotification } from '../../../api/types';
import type { NotificationsModel } from '../../../models/notifications';
import { localTimes, moment, plainText } from '../../../text/format';
import { channelText } from '../../../text/notifications';
import { trans } from '../../../text/translate';
import { numberText } from '../../../text/words';
import { useHost } from '../../host';
import { Notice } from '../../react';
import { Link } from '../router';

export function Recent({ model }: { model: NotificationsModel }): JSX.Element {
  const host = useHost();
  return (
    <>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      <p className="hai-Told-head">
        <span role="status">
          {model.unread === 0
            ? trans.__('All are read.')
            : trans._n('%2 is not read.', '%2 are not read.', model.unread, numberText(model.unread))}
        </span>
        {model.unread > 0 && (
          <button
            className="hai-Link"
            onClick={() =>
              void model.markRead().catch((error: unknown) => host.notify('error', sentenceOf(error)))
            }
          >
            {trans.__('Mark all as read')}
          </button>
        )}
      </p>
      {model.ready && model.items.length === 0 && (
        <p className="hai-Empty">{trans.__('You were told nothing yet.')}</p>
      )}
      <ul className="hai-Told" data-testid="hai-told">
        {model.items.map(item => (
          <Item key={item.id} item={item} />
        ))}
      </ul>
      {model.hasMore && (
        <button className="hai-Link" onClick={() => void model.more()}>
          {trans.__('Show older ones')}
        </button>
      )}
    </>
  );
}

function Item({ item }: { item: INotification }): JSX.Element {
  const troubled = item.deliveries.filter(one => one.state !== 'sent' && one.error !== null);
  return (
    <li className={`hai-Told-item ${item.read ? '' : 'hai-mod-unread'}`}>
      <time dateTime={item.at} className="hai-Soft">
        {moment(item.at)}
      </time>
      <span className="hai-Told-mark">
        {!item.read && <span className="hai-New">{trans.__('new')}</span>}
      </span>
      <span className="hai-Told-text">
        {localTimes(item.text)}{' '}
        {item.task_id !== null && (
          <Link to={{ page: 'tasks', id: item.task_id }}>{trans.__('Open task %1', item.task_id)}</Link>
        )}
        {item.lines.length > 0 && (
          <details>
            <summary>{trans.__('Last lines')}</summary>
            <pre>{item.lines.map(plainText).join('\n')}</pre>
          </details>
        )}
        {troubled.map(one => (
          <span key={one.channel} className="hai-Told-trouble">
            {one.state === 'given_up'
              ? trans.__('%1: not delivered: %2', channelText(one.channel), one.error ?? '')
              : trans.__(
                  '%1: not accepted yet, and sent again: %2',
                  channelText(one.channel),
                  one.error ?? ''
                )}
          </span>
        ))}
      </span>
    </li>
  );
}
