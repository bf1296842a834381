/** The answers of the server extension itself, beside those that it forwards from the service. */

/** When the user's own server ends; times are texts, null where it never does. */
export interface ILifetime {
  /** The time of the server that answers. */
  now: string | null;
  ends_at: string | null;
  reason: 'idle' | 'lifetime' | null;
  /** Whether the user is to be warned now. */
  warning: boolean;
  /** Whether the user can get more time. */
  renewable: boolean;
  /** Whether only live tasks keep the server from counting as idle. */
  kept_for_tasks: boolean;
}

/** First values of the submit form for a file. */
export interface ISubmitDefaults {
  name: string;
  cwd: string;
  command: string[];
  /** Variables of the task: the folder of the environment of a notebook's kernel. */
  env?: Record<string, string>;
  /** The environment of haienv that a notebook's kernel is of, with its generation. */
  environment?: string;
}

/** A folder that was stored as it is. */
export interface ISnapshotTaken {
  digest: string;
  commit: string | null;
  dirty: boolean;
  /** What was taken and sent, in one line. */
  told: string;
  /** What is left out, although no rule says so. */
  notes: string[];
}

/** An environment of haienv in a list. Without a generation, `trouble` says why. */
export interface IEnvironment {
  /** `users/ann/vision`, `groups/cv/vision`, `base/torch`. */
  name: string;
  trouble: string;
  generation?: number;
  python?: string;
  cuda?: string | null;
  extends?: string | null;
  /** What was asked for, beyond what it extends. */
  requirements?: string[];
  files?: number;
  /** Bytes. */
  size?: number;
  digest?: string;
  built_at?: string;
  built_by?: string;
  /** Whether Jupyter offers it as a kernel. */
  kernel?: boolean;
  /** Whether there is a draft, which may have changes that are in no generation. */
  draft?: boolean;
}

/** What became of the draft of an environment. */
export interface IFrozen {
  /** Whether a generation was made. */
  changed: boolean;
  generation: number | null;
}

/** A generation of an environment. */
export interface IEnvironmentDetail extends IEnvironment {
  generation: number;
  /** Versions by package. */
  packages: Record<string, string>;
  /** Numbers of all generations. */
  generations: number[];
  current: number | null;
}

/** A command that changes an environment. */
export interface IBuild {
  id: number;
  verb: string;
  environment: string;
  state: 'running' | 'done' | 'stopped' | 'failed';
  /** Exit status; null: it runs. */
  status: number | null;
  /** The last line of its output. */
  last: string;
}

export interface IEnvironments {
  items: IEnvironment[];
  /** Whose environments the user may change, the user's own first. */
  owners: string[];
  /** The builds of this server, the newest first. */
  builds: IBuild[];
}

/** A package that differs between two generations; null: one of them lacks it. */
export interface IPackageChange {
  package: string;
  before: string | null;
  after: string | null;
}

/** What can be asked of haienv; the fields are its options. */
export type EnvironmentChange =
  | {
      verb: 'create';
      name: string;
      extend?: string;
      python?: string;
      kernel?: boolean;
      requirements: string[];
    }
  | { verb: 'install'; name: string; requirements: string[] }
  | { verb: 'uninstall'; name: string; packages: string[] }
  | { verb: 'rollback'; name: string; generation: number }
  | { verb: 'share' | 'unshare'; name: string; group?: string; user?: string; all?: true }
  | { verb: 'remove'; name: string; with_draft?: true };
