/** The place in Studio is the page's address, so that it can be kept, sent to others, and survives a login. */

import { Signal } from '@lumino/signaling';
import { routeOf, withoutEmpty, type IRoute, type IRouter, type Target } from '../components/studio/router';

/** Words in addresses below the service's prefix: a page, and the number of a task. */
const PLACE = /^([a-z]+)(?:\/([0-9]{1,15}))?$/;

/** The place that an address names; `first`: the page at the prefix itself. */
export function routeFrom(path: string, search: string, prefix: string, first: string): IRoute {
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  const found = PLACE.exec(below);
  return {
    page: below === '' ? first : (found?.[1] ?? below),
    id: found?.[2] === undefined ? null : Number(found[2]),
    query: withoutEmpty(Object.fromEntries(new URLSearchParams(search)))
  };
}

/** The address of a place below the prefix. */
export function addressOf(target: Target, prefix: string, first: string): string {
  const { page, id, query } = routeOf(target);
  const search = new URLSearchParams(withoutEmpty(query)).toString();
  const path = page === first && id === null ? '' : id === null ? page : `${page}/${id}`;
  return prefix + path + (search === '' ? '' : `?${search}`);
}

/** Keeps the place in the address bar. */
export class PageRouter implements IRouter {
  readonly changed = new Signal<this, void>(this);
  route: IRoute;

  constructor(
    private readonly prefix: string,
    private readonly first: string
  ) {
    this.route = this.read();
    window.addEventListener('popstate', () => {
      this.route = this.read();
      this.changed.emit();
    });
  }

  href(target: Target): string {
    return addressOf(target, this.prefix, this.first);
  }

  go(target: Target, replace = false): void {
    const address = this.href(target);
    if (replace) {
      history.replaceState(null, '', address);
    } else if (address !== location.pathname + location.search) {
      history.pushState(null, '', address);
      window.scrollTo(0, 0);
    }
    this.route = routeOf(target);
    this.changed.emit();
  }

  private read(): IRoute {
    return routeFrom(location.pathname, location.search, this.prefix, this.first);
  }
}
