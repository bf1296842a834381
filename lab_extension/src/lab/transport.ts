/** The way to the platform in JupyterLab: the user's own server forwards with the user's token. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { ITransport } from '../api/transport';
import { trans } from '../text/translate';

/** Requests to the server extension `hai_lab`. */
export class LabTransport implements ITransport {
  heard?: NonNullable<ITransport['heard']>;

  constructor(private readonly settings: ServerConnection.ISettings) {}

  get peer(): string {
    return trans.__('Your JupyterLab server');
  }

  url(path: string): string {
    return URLExt.join(this.settings.baseUrl, 'hai-lab', path);
  }

  fetch(url: string, init: RequestInit): Promise<Response> {
    return ServerConnection.makeRequest(url, init, this.settings);
  }
}
