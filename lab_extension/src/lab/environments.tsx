/** The Lumino shell of the *Environments* view. */

import { ReactWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import type { JSX } from 'react';
import { HostProvider, type IHost } from '../components/host';
import { environmentIcon } from './icons';
import type { EnvironmentsModel } from '../models/environments';
import { View } from '../components/environments/View';
import { trans } from '../text/translate';

/** The view in the main area. */
export class EnvironmentsWidget extends ReactWidget {
  constructor(
    private readonly model: EnvironmentsModel,
    private readonly host: IHost
  ) {
    super();
    this.addClass('hai-EnvironmentsWidget');
    this.title.icon = environmentIcon;
    this.title.label = trans.__('Environments');
    this.title.caption = trans.__('Python environments of yours, of your groups, and for all');
    this.title.closable = true;
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    void this.model.refresh();
  }

  protected override render(): JSX.Element {
    return (
      <HostProvider value={this.host}>
        <View model={this.model} />
      </HostProvider>
    );
  }
}
