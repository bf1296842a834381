/** A trial of other policy numbers: it computes for a while, tells how far it is, and can be ended. */

import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { IAdminApi } from '../api/admin';
import type { IPolicyTrial, ITrial, ITrialProgress } from '../api/types';
import { trans } from '../text/translate';

export type TrialStatus = 'idle' | 'running' | 'done' | 'failed' | 'cancelled';

/** The latest trial. A new one ends the one before. */
export class TrialModel implements IDisposable {
  private readonly _changed = new Signal<this, void>(this);
  private abort: AbortController | null = null;
  private _status: TrialStatus = 'idle';
  private _asked: IPolicyTrial | null = null;
  private _done = 0;
  private _result: ITrial | null = null;
  private _error: unknown = null;
  private _isDisposed = false;

  constructor(private readonly api: Pick<IAdminApi, 'tryPolicy'>) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get status(): TrialStatus {
    return this._status;
  }

  /** What the latest trial is about. */
  get asked(): IPolicyTrial | null {
    return this._asked;
  }

  /** How far it is, 0 to 1. */
  get done(): number {
    return this._done;
  }

  get result(): ITrial | null {
    return this._result;
  }

  /** Why it failed; null: it has not. */
  get error(): unknown {
    return this._error;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Begin one. It ends with a result or an error, which `changed` tells of; it never throws. */
  async run(asked: IPolicyTrial): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this._asked = asked;
    this._result = null;
    this._error = null;
    this._done = 0;
    this.set('running');
    try {
      for await (const event of this.api.tryPolicy(asked, abort.signal)) {
        if (abort.signal.aborted) {
          return;
        }
        if (event.event === 'progress') {
          this._done = (JSON.parse(event.data) as ITrialProgress).done;
          this.set('running');
        } else if (event.event === 'result') {
          this._result = JSON.parse(event.data) as ITrial;
          this.set('done');
        }
      }
      if (!abort.signal.aborted && this._result === null) {
        throw new Error(trans.__('The trial ended without a result. Try it again.'));
      }
    } catch (error) {
      if (!abort.signal.aborted) {
        this._error = error;
        this.set('failed');
      }
    }
  }

  /** End the one that runs: the service ends its computation when nobody listens. */
  cancel(): void {
    if (this._status === 'running') {
      this.abort?.abort();
      this.set('cancelled');
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.abort?.abort();
      Signal.clearData(this);
    }
  }

  private set(status: TrialStatus): void {
    this._status = status;
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }
}
