/** What all pages of Studio share: the interface, the live connection, and what is known of cluster and user. */

import { createContext, useContext, useEffect, useState } from 'react';
import type { IApi } from '../../api/client';
import { AdminModel } from '../../models/admin';
import type { ClusterModel } from '../../models/cluster';
import type { Feed } from '../../models/feed';
import type { LiveModel } from '../../models/live';
import { useSignal } from '../react';

export interface IStudio {
  api: IApi;
  feed: Feed;
  cluster: ClusterModel;
}

const Context = createContext<IStudio | null>(null);

/** Gives it to all pages below. */
export const StudioProvider = Context.Provider;

/** What all pages share. Throws outside of a StudioProvider. */
export function useStudio(): IStudio {
  const studio = useContext(Context);
  if (studio === null) {
    throw new Error('This page is shown without a StudioProvider around it.');
  }
  return studio;
}

/** A model that lives as long as the view, and draws it again when it changes. Another model needs a view with another `key`. */
export function useModel<T extends LiveModel>(make: () => T): T {
  const [model] = useState(make);
  useEffect(() => {
    void model.start();
    return () => model.dispose();
  }, [model]);
  useSignal(model.changed);
  return model;
}

/**
 * The answer to a question that may change, read again when an event can have changed it.
 * `kinds`: the beginnings of the kinds of such events; `live`: time between two readings with a live connection, in ms.
 */
export function useRead<Q, T>(
  name: string,
  kinds: readonly string[],
  ask: (api: IApi, question: Q) => Promise<T>,
  question: Q,
  live?: number
): AdminModel<Q, T> {
  const { api, feed } = useStudio();
  const model = useModel(
    () =>
      new AdminModel({ feed, name: `hai:${name}`, kinds, live, ask: (asked: Q) => ask(api, asked), question })
  );
  useEffect(() => model.look(question));
  return model;
}
