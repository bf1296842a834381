/** What views ask of the program that they are shown in: JupyterLab, or the page of the service. */

import { createContext, useContext } from 'react';

/** A list below a question, with its heading. */
export interface IDetails {
  title: string;
  lines: readonly string[];
}

export interface IQuestion {
  title: string;
  body: string;
  /** What the answer should be made from; lists may be long. */
  details?: readonly IDetails[];
  /** The label of the button that does it. */
  accept: string;
  /** The label of the button that leaves all as it is. */
  keep: string;
}

/** What a task has for TensorBoard. */
export interface IBoard {
  /** The folder that the task writes to. */
  folder: string;
  /** Whether something is in it. */
  content: boolean;
  /** What is missing where TensorBoard would run, and what to do; null: nothing. */
  advice: string | null;
}

/** Starts TensorBoard on the folders of tasks, and shows it. */
export interface IBoards {
  look(task: number): Promise<IBoard>;
  /** Start it, and show it in a tab of the browser. Rejects with a sentence. */
  open(task: number): Promise<void>;
}

/** The program around a view. */
export interface IHost {
  /** TensorBoard, where this program can start it. */
  readonly boards?: IBoards;
  /** The address of the Hub's own page for admins, where this program knows it. */
  readonly hubAdmin?: string;
  /** Show the submit form filled with a task, where this program has one. */
  submitAgain?(task: number): void;
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
