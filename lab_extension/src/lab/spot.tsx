/** The plugin of spot containers: a countdown, and everything that is open is saved when it begins. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification, ReactWidget } from '@jupyterlab/apputils';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import { requestJson } from '../api/request';
import { Countdown } from '../components/spot/Countdown';
import { TimeLeft } from '../components/spot/TimeLeft';
import { SpotModel, type ISpotApi, type ISpotNotice } from '../models/spot';
import type { ITransport } from '../api/transport';
import { takeTranslator } from './catalogue';
import { LabTransport } from './transport';
import { trans } from '../text/translate';

const SAVE_ALL = 'docmanager:save-all';

/** The server extension. */
export function spotApi(transport: ITransport): ISpotApi {
  return {
    status: () => requestJson(transport, 'spot'),
    leave: () => requestJson(transport, 'spot/leave', { method: 'POST' })
  };
}

/** Save everything that is open; whether that was possible. */
export async function saveAll(
  commands: Pick<JupyterFrontEnd['commands'], 'hasCommand' | 'execute'>
): Promise<boolean> {
  if (!commands.hasCommand(SAVE_ALL)) {
    return false;
  }
  try {
    await commands.execute(SAVE_ALL);
    return true;
  } catch {
    return false;
  }
}

/** What the user is told when a notice comes: each a notification, because those are cut after 140 characters. */
export function sentencesOf(notice: ISpotNotice, saved: boolean): string[] {
  const files = saved ? trans.__('Open documents have been saved') : trans.__('Save your documents now');
  const after =
    notice.kind === 'suspend'
      ? trans.__('The server comes back by itself at its next turn.')
      : trans.__('The server does not come back by itself.');
  return [
    trans.__('This server ends soon: %1.', notice.message),
    trans.__('%1; what kernels and terminals hold is lost. %2', files, after)
  ];
}

export const spotPlugin: JupyterFrontEndPlugin<void> = {
  id: 'hai-lab:spot',
  description: 'A countdown when a spot container must leave its node.',
  autoStart: true,
  optional: [IStatusBar, ITranslator],
  activate
};

function activate(app: JupyterFrontEnd, statusBar: IStatusBar | null, translator: ITranslator | null): void {
  takeTranslator(translator);
  const model = new SpotModel(spotApi(new LabTransport(app.serviceManager.serverSettings)));
  const widget = ReactWidget.create(
    <Countdown
      model={model}
      onLeave={async () => {
        await saveAll(app.commands);
        await model.leave();
      }}
    />
  );
  widget.id = 'hai-countdown';
  model.noticed.connect((_, notice) => {
    void saveAll(app.commands).then(saved => {
      for (const sentence of sentencesOf(notice, saved)) {
        Notification.warning(sentence, { autoClose: false });
      }
    });
  });
  app.shell.add(widget, 'top', { rank: 950 });
  statusBar?.registerStatusItem('hai-lab:spot', {
    item: ReactWidget.create(<TimeLeft model={model} />),
    align: 'left',
    rank: 21,
    isActive: () => model.status?.spot === true,
    activeStateChanged: model.changed
  });
  // Before that nothing is open that could be saved, and Lab does not show notifications yet.
  void app.restored.then(() => model.start());
}
