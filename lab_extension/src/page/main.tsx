/** The page of the service: makes what all views share, and draws Studio. */

import 'uplot/dist/uPlot.min.css';
import '../../style/index.css';
import '../../style/page/light.css';
import '../../style/page/dark.css';
import '../../style/page/page.css';
import '../../style/logo.svg';
import { createRoot } from 'react-dom/client';
import { Api } from '../api/client';
import { HostProvider } from '../components/host';
import { StudioProvider } from '../components/studio/context';
import { PAGES } from '../components/studio/pages';
import { RouterProvider } from '../components/studio/router';
import { ClusterModel } from '../models/cluster';
import { Feed } from '../models/feed';
import { Skew } from '../models/skew';
import { trans } from '../text/translate';
import { Around } from './Around';
import { PageHost } from './host';
import { loadLanguage } from './languages';
import { PageRouter } from './router';
import { startOf } from './start';
import { tellOnPage } from './told';
import { Themes } from './theme';
import { PageTransport } from './transport';

/** Draw the page into an element that the service has written its addresses into. */
export async function open(root: HTMLElement): Promise<void> {
  const start = startOf(root);
  await loadLanguage(start.catalogues, document.documentElement);
  const themes = new Themes(document.documentElement);
  const transport = new PageTransport(start.prefix);
  const router = new PageRouter(start.prefix, PAGES[0]?.id ?? '');
  const host = new PageHost(router, start.hub);
  const reload = { label: trans.__('Load it again'), run: () => location.reload() };
  const skew = new Skew(sentence => host.notify('warning', sentence, reload, 0));
  transport.heard = headers => skew.hear(headers);
  const api = new Api(transport);
  const feed = new Feed(api);
  const cluster = new ClusterModel(api, feed);

  const name = (): void => {
    const { page, id } = router.route;
    const title = PAGES.find(each => each.id === page)?.title() ?? '';
    document.title = id === null ? `${title} – HAI` : `#${id} – HAI`;
  };
  router.changed.connect(name);
  name();

  tellOnPage(feed, host, router);
  void cluster.start();

  createRoot(root).render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={{ api, feed, cluster }}>
          <Around start={start} host={host} themes={themes} transport={transport} />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
}

const root = document.getElementById('hai');
if (root !== null) {
  void open(root);
}
