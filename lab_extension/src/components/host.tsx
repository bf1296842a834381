/** What views ask of the program that they are shown in: JupyterLab, or the page of the service. */

import { createContext, useContext } from 'react';

export interface IQuestion {
  title: string;
  body: string;
  /** The label of the button that does it. */
  accept: string;
  /** The label of the button that leaves all as it is. */
  keep: string;
}

/** The program around a view. */
export interface IHost {
  /** Show a task. */
  openTask(id: number): void;
  /** Say something that is gone by itself after a while. */
  notify(kind: 'info' | 'warning' | 'error', message: string): void;
  /** Ask before something that cannot be taken back; the answer that keeps things is the default. */
  confirm(question: IQuestion): Promise<boolean>;
}

const Context = createContext<IHost | null>(null);

/** Gives the host to all views below. */
export const HostProvider = Context.Provider;

/** The program that this view is shown in. Throws outside of a HostProvider. */
export function useHost(): IHost {
  const host = useContext(Context);
  if (host === null) {
    throw new Error('This view is shown without a HostProvider around it.');
  }
  return host;
}
