/** Studio in JupyterLab's main area: the same pages as those of the service. */

import { ReactWidget } from '@jupyterlab/apputils';
import { Signal, type ISignal } from '@lumino/signaling';
import type { JSX } from 'react';
import { HostProvider, type IHost } from '../components/host';
import { StudioProvider, type IStudio } from '../components/studio/context';
import { Frame } from '../components/studio/Frame';
import { PAGES } from '../components/studio/pages';
import { routeOf, RouterProvider, type IRoute, type IRouter, type Target } from '../components/studio/router';
import { trans } from '../text/translate';
import { haiIcon } from './icons';

/** What JupyterLab shows in a tab of its own rather than within Studio. */
export interface IElsewhere {
  openTask(id: number): void;
  openEnvironments(): void;
}

/** Keeps the place within the widget. A task, and what the user's own server can do with environments, have tabs. */
export class LabRouter implements IRouter {
  private readonly _changed = new Signal<this, void>(this);
  private _route: IRoute;

  constructor(
    target: Target,
    private readonly elsewhere: IElsewhere
  ) {
    this._route = routeOf(target);
  }

  get route(): IRoute {
    return this._route;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** JupyterLab has no addresses for what is in a tab. */
  href(): string {
    return '#';
  }

  go(target: Target): void {
    const route = routeOf(target);
    if (route.id !== null) {
      this.elsewhere.openTask(route.id);
    } else if (route.page === 'environments') {
      this.elsewhere.openEnvironments();
    } else {
      this._route = route;
      this._changed.emit();
    }
  }
}

/** The pages of Studio as a widget. */
export class StudioWidget extends ReactWidget {
  readonly router: LabRouter;

  constructor(
    target: Target,
    private readonly studio: IStudio,
    private readonly host: IHost,
    elsewhere: IElsewhere
  ) {
    super();
    this.router = new LabRouter(target, elsewhere);
    this.addClass('hai-StudioWidget');
    this.title.icon = haiIcon;
    this.title.closable = true;
    this.router.changed.connect(this.name, this);
    this.name();
  }

  override dispose(): void {
    Signal.clearData(this.router);
    super.dispose();
  }

  protected override render(): JSX.Element {
    return (
      <HostProvider value={this.host}>
        <RouterProvider value={this.router}>
          <StudioProvider value={this.studio}>
            <Frame />
          </StudioProvider>
        </RouterProvider>
      </HostProvider>
    );
  }

  private name(): void {
    const page = PAGES.find(each => each.id === this.router.route.page);
    this.title.label = page ? trans.__('HAI: %1', page.title()) : 'HAI';
    this.title.caption = trans.__('HAI Studio: the cluster, all tasks, reports');
  }
}
