/** TensorBoard, started by the server extension and shown in a tab of the browser. */

import { requestJson } from '../api/request';
import type { ITransport } from '../api/transport';
import type { IBoard, IBoards } from '../components/host';
import { trans } from '../text/translate';

export class LabBoards implements IBoards {
  constructor(private readonly transport: ITransport) {}

  look(task: number): Promise<IBoard> {
    return requestJson(this.transport, 'tensorboard', { query: { task } });
  }

  async open(task: number): Promise<void> {
    // At once: a browser opens no tab long after a click. It stays empty while TensorBoard starts.
    const tab = window.open('', '_blank');
    if (tab !== null) {
      tab.document.title = trans.__('TensorBoard starts…');
      tab.document.body.textContent = trans.__('TensorBoard starts…');
    }
    try {
      const { path } = await requestJson<{ path: string }>(this.transport, 'tensorboard', {
        method: 'POST',
        body: { task }
      });
      const url = this.transport.url(path);
      if (tab === null) {
        throw new Error(trans.__('The browser opens no tab. Allow it for this page, and try again.'));
      }
      tab.opener = null;
      tab.location.replace(url);
    } catch (error) {
      tab?.close();
      throw error;
    }
  }
}
