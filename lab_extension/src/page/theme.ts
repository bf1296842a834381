/** Light or dark: as the system has it, until the user chooses. */

import { Signal } from '@lumino/signaling';

export type Theme = 'light' | 'dark';
export type ThemeChoice = Theme | 'system';

/** Where the choice is kept in the browser. */
const KEY = 'hai-theme';

/** Sets `data-theme` of the document, on which the style sheets depend. */
export class Themes {
  readonly changed = new Signal<this, Theme>(this);
  // eslint-disable-next-line hai/translated -- a query of CSS, which nobody reads
  private readonly dark = window.matchMedia('(prefers-color-scheme: dark)');
  choice: ThemeChoice;

  constructor(private readonly root: HTMLElement) {
    const kept = localStorage.getItem(KEY);
    this.choice = kept === 'light' || kept === 'dark' ? kept : 'system';
    this.dark.addEventListener('change', () => this.apply());
    this.apply();
  }

  /** The theme that is shown. */
  get shown(): Theme {
    const system = this.dark.matches ? 'dark' : 'light';
    return this.choice === 'system' ? system : this.choice;
  }

  choose(choice: ThemeChoice): void {
    this.choice = choice;
    localStorage.setItem(KEY, choice);
    this.apply();
  }

  private apply(): void {
    this.root.dataset.theme = this.shown;
    // As in JupyterLab: charts read the colours again.
    document.body.dataset.jpThemeName = this.shown;
    this.changed.emit(this.shown);
  }
}
