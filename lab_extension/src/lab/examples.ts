/** The examples in the user's folder: the server writes what is missing, and the notebook is shown. */

import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { CommandRegistry } from '@lumino/commands';
import { requestJson, sentenceOf } from '../api/request';
import type { ITransport } from '../api/transport';

/** Open the notebook of the examples, and its folder in the file browser. */
export async function openExamples(
  commands: Pick<CommandRegistry, 'execute' | 'hasCommand'>,
  transport: ITransport
): Promise<void> {
  try {
    const { path } = await requestJson<{ path: string }>(transport, 'examples', { method: 'POST' });
    await commands.execute('docmanager:open', { path });
    if (commands.hasCommand('filebrowser:go-to-path')) {
      await commands.execute('filebrowser:go-to-path', {
        path: PathExt.dirname(path),
        dontShowBrowser: true
      });
    }
  } catch (error) {
    Notification.error(sentenceOf(error), { autoClose: 8_000 });
  }
}
