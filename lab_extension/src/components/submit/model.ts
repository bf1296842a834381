/** The state of the submit form, until the platform has taken the task. */

import { UUID } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';
import type { IApi } from '../../api/client';
import type { IFrozen, ISnapshotTaken, ISubmitDefaults } from '../../api/extension';
import { ApiError, sentenceOf } from '../../api/request';
import type { ITaskDetail, ITaskSubmit } from '../../api/types';
import { withKept, type IAgain } from './again';
import {
  initialValues,
  readForm,
  serverErrors,
  wantsSnapshot,
  type FormErrors,
  type IFormContext,
  type IFormValues
} from './form';

/** Makes a generation of the changes in a draft, if there are any. */
export type Freeze = (name: string) => Promise<IFrozen>;

/** The values of the form, and the state of their submission. */
export class SubmitModel {
  readonly changed = new Signal<this, void>(this);
  values: IFormValues;
  errors: FormErrors = {};
  busy = false;
  /** Sending twice is harmless: the key makes it one task. */
  private key = UUID.uuid4();
  private tried = false;
  private taken: ISnapshotTaken | null = null;

  constructor(
    private readonly api: Pick<IApi, 'submit' | 'snapshot'>,
    defaults: ISubmitDefaults,
    readonly context: IFormContext,
    private readonly freeze: Freeze | null = null,
    private readonly again: IAgain | null = null
  ) {
    this.values = again?.values ?? initialValues(defaults, context);
  }

  /** Take what is typed; after the first try, mistakes are shown while typing. */
  edit(values: IFormValues): void {
    this.values = values;
    this.key = UUID.uuid4();
    this.taken = null;
    this.errors = this.tried ? readForm(values, this.context).errors : {};
    this.changed.emit();
  }

  /** Send it. null: it is not right yet, and `errors` says why. */
  async submit(): Promise<ITaskDetail | null> {
    if (this.busy) {
      return null;
    }
    this.tried = true;
    const { task, errors } = readForm(this.values, this.context);
    this.errors = errors;
    if (task === null) {
      this.changed.emit();
      return null;
    }
    this.busy = true;
    this.changed.emit();
    try {
      const environment = await this.frozen(task.environment ?? null);
      return await this.api.submit(
        await this.withSnapshot(withKept({ ...task, environment }, this.again)),
        this.key
      );
    } catch (error) {
      this.errors =
        error instanceof ApiError
          ? serverErrors(error.errors, error.message, this.values)
          : { form: sentenceOf(error) };
      return null;
    } finally {
      this.busy = false;
      this.changed.emit();
    }
  }

  /** Freeze the draft of the environment, if there is one: a draft may change under the task. */
  private async frozen(name: string | null): Promise<string | null> {
    const { context, values } = this;
    if (name === null || !this.freeze || !values.freeze || !(context.drafts ?? []).includes(name)) {
      return name;
    }
    const { changed, generation } = await this.freeze(name);
    if (!changed || generation === null) {
      return name;
    }
    // Shown, and sent again under the same key if this try fails.
    this.values = { ...this.values, environment: `${name}@${generation}` };
    return this.values.environment;
  }

  /** The task with a snapshot of its folder, if it is to have one. The same form sent again has the same snapshot. */
  private async withSnapshot(task: ITaskSubmit): Promise<ITaskSubmit> {
    if (!wantsSnapshot(this.values, this.context.policy)) {
      return task;
    }
    this.taken ??= await this.api.snapshot(task.cwd, this.values.group);
    const { digest, commit, dirty } = this.taken;
    return { ...task, snapshot: { digest, commit, dirty } };
  }
}
