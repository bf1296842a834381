/** What the service writes into the document: addresses that depend on where it is installed. */

export interface IStart {
  /** The address of the service, such as `/services/hai/`. */
  prefix: string;
  /** The address of the Hub, such as `/hub/`. */
  hub: string;
  /** The addresses of the catalogues by language tag. */
  catalogues: Record<string, string>;
}

/** Read it from the element around the page. */
export function startOf(root: HTMLElement): IStart {
  const prefix = root.dataset.prefix ?? '/';
  const catalogues = (root.dataset.catalogues ?? '')
    .split(' ')
    .map(each => each.split('='))
    .filter(each => each.length === 2)
    .map(([tag = '', name = '']) => [tag, `${prefix}page/${name}`] as const);
  return { prefix, hub: root.dataset.hub ?? '/hub/', catalogues: Object.fromEntries<string>(catalogues) };
}
