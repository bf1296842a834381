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
import { Around } from './Around';
import { PageHost } from './host';
import { loadLanguage } from './languages';
import { PageRouter } from './router';
import { startOf } from './start';
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

  // A tab in the background must not hold one of the browser's few connections to the Hub.
  const follow = (): void => {
    if (document.hidden) {
      feed.stop();
    } else {
      feed.start();
    }
  };
  document.addEventListener('visibilitychange', follow);
  follow();
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
