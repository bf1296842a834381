/** The plugin that warns before the user's server ends. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ITranslator } from '@jupyterlab/translation';
import { requestJson } from '../api/request';
import { LifetimeWatch, type ILifetimeWarnings } from '../models/lifetime';
import { takeTranslator } from './catalogue';
import { LabTransport } from './transport';
import { trans } from '../text/translate';

/** Warnings as JupyterLab's notifications: they stay until something is done about them. */
export class LifetimeNotifications implements ILifetimeWarnings {
  private id: string | null = null;

  show(message: string, renew: (() => void) | null): void {
    this.clear();
    const actions: Notification.IAction[] = renew
      ? [
          {
            label: trans.__('Keep it'),
            caption: trans.__('Give this server more time'),
            displayType: 'accent',
            callback: renew
          }
        ]
      : [];
    this.id = Notification.warning(message, { autoClose: false, actions });
  }

  settle(message: string): void {
    this.clear();
    Notification.success(message, { autoClose: 5_000 });
  }

  clear(): void {
    if (this.id !== null) {
      Notification.dismiss(this.id);
      this.id = null;
    }
  }
}

export const lifetimePlugin: JupyterFrontEndPlugin<void> = {
  id: 'hai-lab:lifetime',
  description: 'Warns before your server ends, and gives it more time.',
  autoStart: true,
  optional: [ITranslator],
  activate: (app: JupyterFrontEnd, translator: ITranslator | null) => {
    takeTranslator(translator);
    const transport = new LabTransport(app.serviceManager.serverSettings);
    const watch = new LifetimeWatch(
      {
        lifetime: () => requestJson(transport, 'lifetime'),
        renewLifetime: () => requestJson(transport, 'lifetime', { method: 'POST' })
      },
      new LifetimeNotifications()
    );
    // What is said before Lab shows notifications is only counted, and never shown.
    void app.restored.then(() => watch.start());
  }
};
