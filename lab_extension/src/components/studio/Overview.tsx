/** The cluster at a glance, and what the user may hold of it. */

import type { JSX } from 'react';
import { trans } from '../../text/translate';
import { ClusterView } from '../overview/ClusterView';
import { QuotaView } from '../overview/QuotaView';
import { Notice, useSignal } from '../react';
import { useStudio } from './context';

export function OverviewPage(): JSX.Element {
  const { cluster } = useStudio();
  useSignal(cluster.changed);
  return (
    <>
      <h1>{trans.__('Overview')}</h1>
      {cluster.error !== null && <Notice kind="error">{cluster.error}</Notice>}
      {!cluster.ready && cluster.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      <div className="hai-Cards">
        {cluster.cluster && (
          <section className="hai-Card" aria-label={trans.__('Cluster')}>
            <h2>{trans.__('Cluster')}</h2>
            <ClusterView cluster={cluster.cluster} />
          </section>
        )}
        {cluster.me && (
          <section className="hai-Card" aria-label={trans.__('Your quota')}>
            <h2>{trans.__('Your quota')}</h2>
            <QuotaView quota={cluster.me.quota} />
          </section>
        )}
      </div>
    </>
  );
}
