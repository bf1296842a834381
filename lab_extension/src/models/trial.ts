/** A trial of other policy numbers: it computes for a while, tells how far it is, and can be ended. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IAdminApi } from '../api/admin';
import type { IPolicyTrial, ITrial, ITrialProgress } from '../api/types';
import { trans } from '../text/translate';

export type TrialStatus = 'idle' | 'running' | 'done' | 'failed' | 'cancelled';

/** The latest trial. A new one ends the one before. */
export class TrialModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  private abort: AbortController | null = null;
  status: TrialStatus = 'idle';
  /** What the latest trial is about. */
  asked: IPolicyTrial | null = null;
  /** How far it is, 0 to 1. */
  done = 0;
  result: ITrial | null = null;
  /** Why it failed; null: it has not. */
  error: unknown = null;
  isDisposed = false;

  constructor(private readonly api: Pick<IAdminApi, 'tryPolicy'>) {}

  /** Begin one. It ends with a result or an error, which `changed` tells of; it never throws. */
  async run(asked: IPolicyTrial): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.asked = asked;
    this.result = null;
    this.error = null;
    this.done = 0;
    this.set('running');
    try {
      for await (const event of this.api.tryPolicy(asked, abort.signal)) {
        if (abort.signal.aborted) {
          return;
        }
        if (event.event === 'progress') {
          this.done = (JSON.parse(event.data) as ITrialProgress).done;
          this.set('running');
        } else if (event.event === 'result') {
          this.result = JSON.parse(event.data) as ITrial;
          this.set('done');
        }
      }
      if (!abort.signal.aborted && this.result === null) {
        throw new Error(trans.__('The trial ended without a result. Try it again.'));
      }
    } catch (error) {
      if (!abort.signal.aborted) {
        this.error = error;
        this.set('failed');
      }
    }
  }

  /** End the one that runs: the service ends its computation when nobody listens. */
  cancel(): void {
    if (this.status === 'running') {
      this.abort?.abort();
      this.set('cancelled');
    }
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.abort?.abort();
      Signal.clearData(this);
    }
  }

  private set(status: TrialStatus): void {
    this.status = status;
    if (!this.isDisposed) {
      this.changed.emit();
    }
  }
}
