/** The page as the program around the views: it says things in a corner, and asks in a dialog. */

import { Signal } from '@lumino/signaling';
import type { IHost, IQuestion } from '../components/host';
import type { IRouter } from '../components/studio/router';

/** How long what is said stays on the screen, in ms. */
const SHOWN_FOR = 8_000;

export interface IToast {
  key: number;
  kind: 'info' | 'warning' | 'error';
  message: string;
  /** What can be done about it; null: nothing. */
  action: IToastAction | null;
}

/** A button of what is said. */
export interface IToastAction {
  label: string;
  run: () => void;
}

/** A question that waits for its answer. */
export interface IAsked extends IQuestion {
  answer: (yes: boolean) => void;
}

/** What is said and asked now; `Around` draws it. */
export class PageHost implements IHost {
  readonly hubAdmin: string;
  readonly changed = new Signal<this, void>(this);
  toasts: readonly IToast[] = [];
  private readonly questions: IAsked[] = [];
  private nextKey = 0;

  /** `hub`: the address of the Hub, such as `/hub/`. */
  constructor(
    private readonly router: IRouter,
    hub = '/hub/'
  ) {
    this.hubAdmin = `${hub}admin`;
  }

  /** The question that is asked now; further ones wait. */
  get question(): IAsked | null {
    return this.questions[0] ?? null;
  }

  openTask(id: number): void {
    this.router.go({ page: 'tasks', id });
  }

  /** `shownFor`: how long it stays, in ms; 0: until it is closed. */
  notify(
    kind: IToast['kind'],
    message: string,
    action: IToastAction | null = null,
    shownFor: number = SHOWN_FOR
  ): void {
    const key = this.nextKey++;
    this.toasts = [...this.toasts, { key, kind, message, action }];
    this.changed.emit();
    if (shownFor > 0) {
      setTimeout(() => this.dismiss(key), shownFor);
    }
  }

  dismiss(key: number): void {
    this.toasts = this.toasts.filter(toast => toast.key !== key);
    this.changed.emit();
  }

  confirm(question: IQuestion): Promise<boolean> {
    return new Promise(resolve => {
      const asked: IAsked = {
        ...question,
        answer: yes => {
          this.questions.splice(this.questions.indexOf(asked), 1);
          this.changed.emit();
          resolve(yes);
        }
      };
      this.questions.push(asked);
      this.changed.emit();
    });
  }
}
