/** Where one is in Studio: which page, which task, which filters. Each shell keeps it where its users expect it. */

import { createContext, useContext, type JSX, type MouseEvent, type ReactNode } from 'react';
import type { ISignal } from '@lumino/signaling';
import { useSignal } from '../react';

/** Words behind `?` in an address: filters, order, tab. Nothing is kept twice: what is not there is the default. */
export type Query = Readonly<Record<string, string>>;

export interface IRoute {
  /** The id of a page of the registry. */
  page: string;
  /** The number of a task; null: the page itself. */
  id: number | null;
  query: Query;
}

/** Where to go; what is left out is empty. */
export type Target = Pick<IRoute, 'page'> & Partial<IRoute>;

/** Keeps the place. The page of the service has it in the address bar, JupyterLab in the widget. */
export interface IRouter {
  readonly route: IRoute;
  readonly changed: ISignal<unknown, void>;
  /** The address of a place, for links. */
  href(target: Target): string;
  /** Go there. `replace`: the way back does not lead here. */
  go(target: Target, replace?: boolean): void;
}

const Context = createContext<IRouter | null>(null);

/** Gives the router to all views below. */
export const RouterProvider = Context.Provider;

/** The router of this view, and drawn again when the place changes. Throws outside of a RouterProvider. */
export function useRouter(): IRouter {
  const router = useWay();
  useSignal(router.changed);
  return router;
}

/** The router for what leads somewhere, wherever one is. */
function useWay(): IRouter {
  const router = useContext(Context);
  if (router === null) {
    throw new Error('This view is shown without a RouterProvider around it.');
  }
  return router;
}

/** A place with everything that a target leaves out. */
export function routeOf(target: Target): IRoute {
  return { page: target.page, id: target.id ?? null, query: target.query ?? {} };
}

/** The query without words that are empty. */
export function withoutEmpty(query: Query): Query {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
}

/** Change words of the place's query; an empty text takes a word out. The way back leads to where one was before. */
export function changeQuery(router: IRouter, words: Query): void {
  const { page, id, query } = router.route;
  router.go({ page, id, query: withoutEmpty({ ...query, ...words }) }, true);
}

/** A link within Studio. With a modifier key it is the browser's own. */
export function Link(props: {
  to: Target;
  children: ReactNode;
  className?: string;
  current?: boolean;
}): JSX.Element {
  const router = useWay();
  const follow = (event: MouseEvent): void => {
    if (event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      router.go(props.to);
    }
  };
  return (
    <a
      className={props.className ?? 'hai-Link'}
      href={router.href(props.to)}
      onClick={follow}
      {...(props.current === true ? { 'aria-current': 'page' as const } : {})}
    >
      {props.children}
    </a>
  );
}
