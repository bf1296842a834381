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
  /** Variables of the task: the environment of a notebook's kernel. */
  env?: Record<string, string>;
}
