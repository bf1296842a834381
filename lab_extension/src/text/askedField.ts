/** The definition of a field of a task that needs nothing else. */

export type Said = number | boolean | string | null;

export interface IAskedField {
  /** Its name on the wire. */
  name: string;
  kind: 'number' | 'length' | 'flag' | 'text' | 'word';
  /** What it can be, for `word`. */
  words: readonly string[];
  least: number | null;
  most: number | null;
  default: Said;
  label: () => string;
  help: () => string;
}
