/** The Lumino shell of the *Environments* view. */

import { Dialog, ReactWidget, showDialog } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import type { JSX } from 'react';
import { environmentIcon } from './icons';
import type { EnvironmentsModel } from '../models/environments';
import { View } from '../components/environments/View';

/** The view in the main area. */
export class EnvironmentsWidget extends ReactWidget {
  constructor(private readonly model: EnvironmentsModel) {
    super();
    this.addClass('hai-EnvironmentsWidget');
    this.title.icon = environmentIcon;
    this.title.label = 'Environments';
    this.title.caption = 'Python environments of yours, of your groups, and for all';
    this.title.closable = true;
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    void this.model.refresh();
  }

  protected override render(): JSX.Element {
    return <View model={this.model} mayRemove={mayRemove} />;
  }
}

async function mayRemove(name: string, draft: boolean): Promise<boolean> {
  const { button } = await showDialog({
    title: `Remove ${name}?`,
    body:
      'It is removed with all its generations. What live tasks use stays, and is named then.' +
      (draft ? ' It has an open draft: what was changed there and not frozen is gone with it.' : ''),
    defaultButton: 0,
    buttons: [Dialog.cancelButton({ label: 'Keep it' }), Dialog.warnButton({ label: 'Remove it' })]
  });
  return button.accept;
}
