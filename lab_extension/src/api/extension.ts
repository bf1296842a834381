/** What the server extension itself answers, beside what it forwards from the service. */

/** When the user's own server ends; times are texts, null where it never does. */
export interface ILifetime {
  /** The time of whoever tells. */
  now: string | null;
  ends_at: string | null;
  reason: 'idle' | 'lifetime' | null;
  /** Whether the user is to be warned now. */
  warning: boolean;
  /** Whether more time can be had. */
  renewable: boolean;
  /** Whether it would be idle, were it not for live tasks. */
  kept_for_tasks: boolean;
}

/** What the server extension knows of a file. */
export interface ISubmitDefaults {
  name: string;
  cwd: string;
  command: string[];
  /** Variables of the task: the environment of a notebook's kernel. */
  env?: Record<string, string>;
}
