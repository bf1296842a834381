/** The submit form in a dialog that stays open until the platform has taken the task. */

import type { JSX } from 'react';
import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import { UUID } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';
import type { IApi } from '../api/client';
import { ApiError, sentenceOf } from '../api/request';
import type { IFrozen, ISnapshotTaken, ISubmitDefaults } from '../api/extension';
import type { ITaskDetail, ITaskSubmit } from '../api/types';
import { useSignal } from '../components/react';
import { SubmitForm } from '../components/submit/SubmitForm';
import {
  initialValues,
  readForm,
  serverErrors,
  wantsSnapshot,
  type FormErrors,
  type IFormContext,
  type IFormValues
} from '../components/submit/form';

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
    private readonly freeze: Freeze | null = null
  ) {
    this.values = initialValues(defaults, context);
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
      return await this.api.submit(await this.withSnapshot({ ...task, environment }), this.key);
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

class Body extends ReactWidget {
  constructor(
    private readonly model: SubmitModel,
    private readonly free: Record<string, number>,
    private readonly onSubmit: () => void
  ) {
    super();
    this.addClass('hai-SubmitBody');
  }

  protected override render(): JSX.Element {
    return <Connected model={this.model} free={this.free} onSubmit={this.onSubmit} />;
  }
}

function Connected(props: {
  model: SubmitModel;
  free: Record<string, number>;
  onSubmit: () => void;
}): JSX.Element {
  const { model } = props;
  useSignal(model.changed);
  return (
    <SubmitForm
      values={model.values}
      errors={model.errors}
      context={model.context}
      free={props.free}
      busy={model.busy}
      onChange={values => model.edit(values)}
      onSubmit={props.onSubmit}
    />
  );
}

class SubmitDialog extends Dialog<unknown> {
  task: ITaskDetail | null = null;

  constructor(
    private readonly model: SubmitModel,
    title: string,
    free: Record<string, number>
  ) {
    super({
      title,
      body: new Body(model, free, () => this.resolve(1)),
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Submit' })],
      focusNodeSelector: 'input[name="name"]',
      // A click beside the dialog must not throw away what was typed.
      hasClose: false
    });
    this.addClass('hai-SubmitDialog');
    const accept = this.node.querySelector<HTMLButtonElement>('.jp-mod-accept');
    accept?.setAttribute('data-testid', 'hai-submit');
    model.changed.connect(() => {
      if (accept) {
        accept.disabled = model.busy;
      }
    });
  }

  override handleEvent(event: Event): void {
    if (event instanceof KeyboardEvent && event.type === 'keydown' && event.key === 'Escape') {
      event.stopPropagation();
      this.reject();
      return;
    }
    super.handleEvent(event);
  }

  override resolve(index?: number): void {
    if (index === 0) {
      super.resolve(0);
      return;
    }
    void this.model.submit().then(task => {
      if (task !== null && !this.isDisposed) {
        this.task = task;
        super.resolve(1);
        return;
      }
      const wrong = this.node.querySelector<HTMLElement>('[aria-invalid="true"]');
      wrong?.focus();
    });
  }
}

/** Show the form; returns the submitted task, or null if the user cancelled. */
export async function submitDialog(
  api: Pick<IApi, 'submit' | 'snapshot'>,
  defaults: ISubmitDefaults,
  context: IFormContext,
  free: Record<string, number>,
  freeze: Freeze | null = null
): Promise<ITaskDetail | null> {
  const title = defaults.name === '' ? 'New task' : `Submit ${defaults.name}`;
  const dialog = new SubmitDialog(new SubmitModel(api, defaults, context, freeze), title, free);
  await dialog.launch();
  return dialog.task;
}
