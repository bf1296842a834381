/** The page as the program around the views: it says things in a corner, and asks in a dialog. */

import { Signal, type ISignal } from '@lumino/signaling';
import type { IHost, IQuestion } from '../components/host';
import type { IRouter } from '../components/studio/router';

/** How long what is said stays on the screen, in ms. */
const SHOWN_FOR = 8_000;

export interface IToast {
  key: number;
  kind: 'info' | 'warning' | 'error';
  message: string;
}

/** A question that waits for its answer. */
export interface IAsked extends IQuestion {
  answer: (yes: boolean) => void;
}

/** What is said and asked now; `Around` draws it. */
export class PageHost implements IHost {
  readonly hubAdmin: string;
  private readonly _changed = new Signal<this, void>(this);
  private _toasts: readonly IToast[] = [];
  private readonly questions: IAsked[] = [];
  private nextKey = 0;

  /** `hub`: the address of the Hub, such as `/hub/`. */
  constructor(
    private readonly router: IRouter,
    hub = '/hub/'
  ) {
    this.hubAdmin = `${hub}admin`;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get toasts(): readonly IToast[] {
    return this._toasts;
  }

  /** The question that is asked now; further ones wait. */
  get question(): IAsked | null {
    return this.questions[0] ?? null;
  }

  openTask(id: number): void {
    this.router.go({ page: 'tasks', id });
  }

  notify(kind: IToast['kind'], message: string): void {
    const key = this.nextKey++;
    this._toasts = [...this._toasts, { key, kind, message }];
    this._changed.emit();
    setTimeout(() => this.dismiss(key), SHOWN_FOR);
  }

  dismiss(key: number): void {
    this._toasts = this._toasts.filter(toast => toast.key !== key);
    this._changed.emit();
  }

  confirm(question: IQuestion): Promise<boolean> {
    return new Promise(resolve => {
      const asked: IAsked = {
        ...question,
        answer: yes => {
          this.questions.splice(this.questions.indexOf(asked), 1);
          this._changed.emit();
          resolve(yes);
        }
      };
      this.questions.push(asked);
      this._changed.emit();
    });
  }
}
