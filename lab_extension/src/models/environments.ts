/** The environments that the user may use, and the one that is shown. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IEnvironmentsApi } from '../api/environments';
import type {
  EnvironmentChange,
  IEnvironment,
  IEnvironmentDetail,
  IEnvironments,
  IFrozen,
  IPackageChange
} from '../api/extension';
import type { IApi } from '../api/client';
import { sentenceOf } from '../api/request';
import type { IBuildSubmit, ITaskDetail } from '../api/types';
import { BuildModel } from './build';
import { isOver } from './coalesce';

/** Wait before a lost stream is opened again, in ms. */
const AGAIN = 5_000;

export class EnvironmentsModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  /** An environment was published or removed, by whomever: Jupyter has other kernels now. */
  readonly published = new Signal<this, void>(this);
  /** The platform has begun a task that changes an environment. */
  readonly submitted = new Signal<this, ITaskDetail>(this);
  found: IEnvironments = { items: [], owners: [], builds: [] };
  /** Whose environments the platform changes for the user, and the user's own server may not. */
  platformOwners: readonly string[] = [];
  ready = false;
  error: string | null = null;
  /** The environment that is shown; null: none. */
  selected: string | null = null;
  detail: IEnvironmentDetail | null = null;
  /** What differs between two generations, and their numbers. */
  comparison: { before: number; after: number; changes: IPackageChange[] } | null = null;
  /** Why the last thing that was asked for could not be done. */
  refusal: string | null = null;
  /** The build whose output is shown. */
  build: BuildModel | null = null;
  private watching: AbortController | null = null;
  isDisposed = false;

  constructor(
    private readonly api: IEnvironmentsApi,
    private readonly platform: Pick<IApi, 'environments' | 'build'>,
    private readonly again = AGAIN
  ) {}

  /** Whether the user may change an environment. */
  mayChange(name: string): boolean {
    return this.found.owners.includes(name.slice(0, name.lastIndexOf('/')));
  }

  /** Whether the platform changes an environment for the user, by a task: the user's own server may not. */
  builtByPlatform(name: string): boolean {
    return this.platformOwners.includes(name.slice(0, name.lastIndexOf('/')));
  }

  get shown(): IEnvironment | null {
    return this.found.items.find(one => one.name === this.selected) ?? null;
  }

  /** Read the list, and what is shown of it. */
  async refresh(): Promise<void> {
    const owners = this.platform.environments('haienv').then(
      found => found.owners,
      () => this.platformOwners
    );
    try {
      this.found = await this.api.list();
      this.error = null;
      this.ready = true;
    } catch (error) {
      this.error = sentenceOf(error);
    }
    this.platformOwners = (await owners).filter(one => !this.found.owners.includes(one));
    const running = this.found.builds.find(one => one.state === 'running');
    if (running && this.build === null) {
      this.follow(new BuildModel(running, this.api));
    }
    const made = this.build?.build.state === 'running' ? this.build.build.environment : null;
    if (this.ready && this.shown === null && this.selected !== made) {
      this.selected = null;
      this.detail = null;
    }
    this.emit();
    await this.readDetail();
  }

  /** Watch for publications while something that shows environments can be seen. */
  watch(on: boolean): void {
    if (on === (this.watching !== null) || this.isDisposed) {
      return;
    }
    this.watching?.abort();
    this.watching = on ? new AbortController() : null;
    if (this.watching) {
      void this.keepWatching(this.watching.signal);
    }
  }

  async select(name: string | null): Promise<void> {
    this.selected = name;
    this.detail = null;
    this.comparison = null;
    this.refusal = null;
    this.emit();
    await this.readDetail();
  }

  /** Compare two generations of the environment that is shown. */
  async compare(before: number, after: number): Promise<void> {
    const name = this.selected;
    this.refusal = null;
    await this.attempt(async () => {
      const changes = await this.api.diff(`${name}@${before}`, `${name}@${after}`);
      if (name === this.selected) {
        this.comparison = { before, after, changes };
      }
    });
  }

  /** Begin a change; false: it was refused, and `refusal` says why. */
  async begin(change: EnvironmentChange): Promise<boolean> {
    this.refusal = null;
    return this.attempt(async () => {
      if (this.builtByPlatform(change.name)) {
        const key = crypto.randomUUID();
        this.submitted.emit(await this.platform.build(change.name, buildOf(change), key));
        return;
      }
      const build = await this.api.begin(change);
      this.follow(new BuildModel(build, this.api));
      if (change.verb === 'create') {
        this.selected = change.name;
        this.detail = null;
        this.comparison = null;
      }
    });
  }

  /** Make a generation of the changes in the user's draft of an environment, if there are any. */
  async freeze(name: string): Promise<IFrozen> {
    const frozen = await this.api.freeze(name);
    if (frozen.changed) {
      this.published.emit();
    }
    return frozen;
  }

  /** Show the output of no build. */
  closeBuild(): void {
    this.build?.dispose();
    this.build = null;
    this.emit();
  }

  dispose(): void {
    this.watch(false);
    this.isDisposed = true;
    this.build?.dispose();
    Signal.clearData(this);
  }

  private follow(build: BuildModel): void {
    this.build?.dispose();
    this.build = build;
    build.changed.connect(this.emit, this);
    this.emit();
    void build.follow().then(() => {
      if (!build.isDisposed) {
        this.comparison = null;
        this.published.emit();
        void this.refresh();
      }
    });
  }

  private async readDetail(): Promise<void> {
    const shown = this.shown;
    if (shown?.generation === undefined) {
      return;
    }
    await this.attempt(async () => {
      const detail = await this.api.show(shown.name);
      if (this.selected === shown.name) {
        this.detail = detail;
      }
    });
  }

  private async attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.refusal = sentenceOf(error);
      return false;
    } finally {
      this.emit();
    }
  }

  private async keepWatching(signal: AbortSignal): Promise<void> {
    while (!isOver(signal)) {
      try {
        for await (const message of this.api.watch(signal)) {
          if (message.event === 'changed' && !isOver(signal)) {
            this.published.emit();
            void this.refresh();
          }
        }
      } catch (error) {
        this.error = sentenceOf(error);
        this.emit();
      }
      if (!isOver(signal)) {
        await new Promise(resolve => setTimeout(resolve, this.again));
      }
    }
  }

  private emit(): void {
    if (!this.isDisposed) {
      this.changed.emit();
    }
  }
}

/** A change as the platform takes it. */
function buildOf(change: EnvironmentChange): IBuildSubmit {
  const { verb } = change;
  switch (verb) {
    case 'create': {
      const { extend, python, kernel = true, requirements } = change;
      return { verb, extend: extend ?? null, python: python ?? null, kernel, requirements };
    }
    case 'install':
      return { verb, requirements: change.requirements };
    case 'uninstall':
      return { verb, requirements: change.packages };
    case 'rollback':
      return { verb, generation: change.generation };
    case 'share':
    case 'unshare': {
      const { group, user, all = false } = change;
      return {
        verb,
        groups: group === undefined ? [] : [group],
        users: user === undefined ? [] : [user],
        everyone: all
      };
    }
    case 'remove':
      return { verb };
  }
}
