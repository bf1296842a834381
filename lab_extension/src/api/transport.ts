/** How requests reach the platform. Each shell has its own: JupyterLab by its server, the page by the service itself. */

/** A way to the platform. `lab/transport.ts` and `page/transport.ts` implement it. */
export interface ITransport {
  /** Who answers, for sentences: `Your JupyterLab server`, `The HAI service`. */
  readonly peer: string;
  /** The address of a path such as `api/tasks`. */
  url(path: string): string;
  /** Send a request with what the other side needs to know the user. Rejects when nobody answers. */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Called with the headers of each answer. */
  heard?: (headers: Headers) => void;
}
