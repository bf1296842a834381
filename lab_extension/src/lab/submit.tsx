/** The submit form in a dialog that stays open until the platform has taken the task. */

import type { JSX } from 'react';
import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import type { IApi } from '../api/client';
import type { ISubmitDefaults } from '../api/extension';
import type { ITaskDetail } from '../api/types';
import { SubmitForm } from '../components/submit/SubmitForm';
import type { IFormContext } from '../components/submit/form';
import type { IAgain } from '../components/submit/again';
import { SubmitModel, type Freeze } from '../components/submit/model';
import { useSignal } from '../components/react';
import { trans } from '../text/translate';

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
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Submit') })],
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
  freeze: Freeze | null = null,
  again: IAgain | null = null
): Promise<ITaskDetail | null> {
  const title = defaults.name === '' ? trans.__('New task') : trans.__('Submit %1', defaults.name);
  const dialog = new SubmitDialog(new SubmitModel(api, defaults, context, freeze, again), title, free);
  await dialog.launch();
  return dialog.task;
}
