/** Studio: the navigation, and the page that the router names. */

import type { JSX } from 'react';
import { trans } from '../../text/translate';
import type { FeedStatus } from '../../models/feed';
import { Notice, SaidOnce, useSignal } from '../react';
import { useStudio } from './context';
import { pagesFor } from './pages';
import { Link, useRouter } from './router';

/** What the dot of the live connection says. */
export function feedWords(status: FeedStatus): string {
  return {
    connecting: trans.__('Connecting…'),
    live: trans.__('Live: changes are shown at once'),
    lost: trans.__('No live connection: reading again from time to time')
  }[status];
}

export function Frame(): JSX.Element {
  const { cluster, feed } = useStudio();
  const { route } = useRouter();
  useSignal(cluster.changed);
  useSignal(feed.statusChanged);
  const pages = pagesFor(cluster.me?.admin === true);
  const page = pages.find(each => each.id === route.page);
  const Shown = page?.component;
  return (
    <div className="hai-Studio">
      <nav className="hai-Studio-nav" aria-label={trans.__('Pages of HAI')}>
        <ul>
          {pages.map(each => (
            <li key={each.id}>
              <Link className="hai-Studio-link" to={{ page: each.id }} current={each.id === route.page}>
                {each.title()}
              </Link>
            </li>
          ))}
        </ul>
        <span className="hai-Studio-live" role="status">
          <span className={`hai-FeedDot hai-mod-${feed.status}`} aria-hidden="true" />
          {feedWords(feed.status)}
        </span>
      </nav>
      <div className="hai-Studio-page" data-testid={`hai-page-${route.page}`}>
        <SaidOnce>
          {feed.status === 'lost' && feed.error !== null && <Notice kind="warning">{feed.error}</Notice>}
          {Shown === undefined ? <Missing /> : <Shown />}
        </SaidOnce>
      </div>
    </div>
  );
}

/** An address that leads nowhere, or to a page for admins. */
function Missing(): JSX.Element {
  const { cluster } = useStudio();
  const { route } = useRouter();
  if (cluster.me === null && cluster.error === null) {
    return <p className="hai-Empty">{trans.__('Loading…')}</p>;
  }
  return (
    <>
      <h1>{trans.__('There is no such page')}</h1>
      <p>{trans.__('No page for you is called “%1”.', route.page)}</p>
      <Link to={{ page: 'overview' }}>{trans.__('Go to the overview')}</Link>
    </>
  );
}
