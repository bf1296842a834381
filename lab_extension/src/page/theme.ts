/** Light or dark: as the system has it, until the user chooses. */

import { Signal, type ISignal } from '@lumino/signaling';

export type Theme = 'light' | 'dark';
export type ThemeChoice = Theme | 'system';

/** Where the choice is kept in the browser. */
const KEY = 'hai-theme';

/** Sets `data-theme` of the document, on which the style sheets depend. */
export class Themes {
  private readonly _changed = new Signal<this, Theme>(this);
  // eslint-disable-next-line hai/translated -- a query of CSS, which nobody reads
  private readonly dark = window.matchMedia('(prefers-color-scheme: dark)');
  private _choice: ThemeChoice;

  constructor(private readonly root: HTMLElement) {
    const kept = localStorage.getItem(KEY);
    this._choice = kept === 'light' || kept === 'dark' ? kept : 'system';
    this.dark.addEventListener('change', () => this.apply());
    this.apply();
  }

  get changed(): ISignal<this, Theme> {
    return this._changed;
  }

  get choice(): ThemeChoice {
    return this._choice;
  }

  /** The theme that is shown. */
  get shown(): Theme {
    const system = this.dark.matches ? 'dark' : 'light';
    return this._choice === 'system' ? system : this._choice;
  }

  choose(choice: ThemeChoice): void {
    this._choice = choice;
    localStorage.setItem(KEY, choice);
    this.apply();
  }

  private apply(): void {
    this.root.dataset.theme = this.shown;
    // As in JupyterLab: charts read the colours again.
    document.body.dataset.jpThemeName = this.shown;
    this._changed.emit(this.shown);
  }
}
