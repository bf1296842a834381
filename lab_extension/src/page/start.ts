/** What the service writes into the document: addresses that depend on where it is installed. */

export interface IStart {
  /** The address of the service, such as `/services/hai/`. */
  prefix: string;
  /** The address of the Hub, such as `/hub/`. */
  hub: string;
}

/** Read it from the element around the page. */
export function startOf(root: HTMLElement): IStart {
  return { prefix: root.dataset.prefix ?? '/', hub: root.dataset.hub ?? '/hub/' };
}
