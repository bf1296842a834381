/** What pages for admins show: something that is read as a whole, for a question that may change. */

import type { IEvent } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

export interface IAdminOptions<Q, T> {
  feed: Feed;
  /** A name for the timer. */
  name: string;
  /** The beginnings of the kinds of events that can change it, such as `quota.`. */
  kinds: readonly string[];
  /** Time between two readings with a live connection, in ms. */
  live?: number | undefined;
  ask: (question: Q) => Promise<T>;
  /** The first question. */
  question: Q;
}

/** The answer to the latest question, read again when an event can have changed it. */
export class AdminModel<Q, T> extends LiveModel {
  /** The latest answer; while another question is asked, that of the one before. Null: there is none yet. */
  value: T | null = null;
  private question: Q;

  constructor(private readonly given: IAdminOptions<Q, T>) {
    super({
      feed: given.feed,
      name: given.name,
      interval: 1_500,
      fallback: 15_000,
      live: given.live ?? 60_000
    });
    this.question = given.question;
  }

  /** Ask something else from now on. The same question again does nothing. */
  look(question: Q): void {
    if (JSON.stringify(question) !== JSON.stringify(this.question)) {
      this.question = question;
      void this.refresh();
    }
  }

  /** Take over what a change has answered with. */
  put(value: T): void {
    this.value = value;
    this.emit();
  }

  protected concerns(event: IEvent): boolean {
    return this.given.kinds.some(kind => event.kind.startsWith(kind));
  }

  protected async read(): Promise<void> {
    const asked = this.question;
    const found = await this.given.ask(asked);
    // An answer that was overtaken by another question must not be shown as its answer.
    if (asked === this.question) {
      this.value = found;
    }
  }
}
