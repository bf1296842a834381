/** The submit form as values: what is typed, what is wrong with it, what is sent. Pure functions. */

import { MAX_RANKS_PER_NODE, NAME_LENGTH, TASK_NAME_PATTERN } from '../../api/constants';
import type { ISubmitDefaults } from '../../api/extension';
import type {
  IFieldError,
  IOwnQuota,
  IPolicy,
  ITaskSubmit,
  PriorityChoice,
  ProfileName
} from '../../api/types';
import { readAsked, typedAsked, type AskedName } from '../../text/asked';
import type { Said } from '../../text/askedField';
import { ASKED_DEFAULTS, ASKED_FIELDS } from '../../text/askedFields';
import { duration } from '../../text/format';
import { joinCommand, parseDuration, parseEnv, splitCommand } from '../../text/commandLine';
import { trans } from '../../text/translate';

/** What the fields hold; the keys are the names of the fields and of the wire. */
export interface IFormValues extends Record<AskedName, string> {
  name: string;
  command: string;
  cwd: string;
  nodes: string;
  gpus: string;
  ranks_per_node: string;
  priority: PriorityChoice;
  group: string;
  grace_s: string;
  time_limit_s: string;
  profile: ProfileName;
  signal: string;
  watch: string;
  /** Name of the environment; empty: the default. */
  environment: string;
  env: string;
  /** Names of secrets, with their places, one a line. */
  secrets: string;
  /** Whether it starts in its folder as that is now, over all turns. */
  snapshot: boolean;
  hold: boolean;
  /** Whether the changes in the draft of the environment become a generation first. */
  freeze: boolean;
}

export type FieldName = keyof IFormValues;
/** Sentences by field; `form` holds what belongs to none. */
export type FormErrors = Partial<Record<FieldName | 'form', string>>;

/** What the form is checked against. */
export interface IFormContext {
  policy: IPolicy | null;
  quota: readonly IOwnQuota[];
  /** Names of the environments that can be chosen. */
  environments?: readonly string[];
  /** Those of which there is a draft. */
  drafts?: readonly string[];
  /** Names of the user's secrets. */
  secrets?: readonly string[];
}

const SIGNAL = /^(?:SIG)?(TERM|INT|USR1|USR2)(@\d{1,5}(?:\.\d{1,3})?)?$/;
const NAME = new RegExp(`^${TASK_NAME_PATTERN}$`, 'u');

/** The values that the form opens with. */
export function initialValues(defaults: ISubmitDefaults, context: IFormContext): IFormValues {
  const groups = context.policy?.groups ?? [];
  return {
    name: defaults.name,
    command: joinCommand(defaults.command),
    cwd: defaults.cwd,
    nodes: '1',
    gpus: '',
    ranks_per_node: '',
    priority: 'NORMAL',
    group: groups.includes('training') ? 'training' : (groups[0] ?? 'training'),
    grace_s: '',
    time_limit_s: '',
    ...typedValues(ASKED_DEFAULTS),
    profile: 'auto',
    signal: '',
    watch: '',
    environment: defaults.environment ?? '',
    env: Object.entries(defaults.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    secrets: '',
    snapshot: false,
    hold: false,
    freeze: true
  };
}

/** Whether tasks of a node group start in a snapshot of their folder: never, if the user says so, or always. */
export function snapshotMode(policy: IPolicy | null, group: string): 'off' | 'offered' | 'required' {
  const number = policy?.numbers.find(one => one.name === 'snapshots');
  const mode: unknown = (number?.groups[group] ?? number?.common)?.value;
  return mode === 'offered' || mode === 'required' ? mode : 'off';
}

/** Whether this task is to have a snapshot. */
export function wantsSnapshot(values: IFormValues, policy: IPolicy | null): boolean {
  const mode = snapshotMode(policy, values.group);
  return mode === 'required' || (mode === 'offered' && values.snapshot);
}

/** Read the form. Exactly one of `task` and a non-empty `errors` is given. */
export function readForm(
  values: IFormValues,
  context: IFormContext
): { task: ITaskSubmit | null; errors: FormErrors } {
  const errors: FormErrors = {};
  const take: Take = (field, read, otherwise) => {
    try {
      return read();
    } catch (error) {
      errors[field] = (error as Error).message;
      return otherwise;
    }
  };
  const task: ITaskSubmit = {
    name: take('name', () => readName(values.name), ''),
    command: take('command', () => readCommand(values.command), []),
    cwd: take('cwd', () => readFolder(values.cwd), ''),
    nodes: take('nodes', () => readNodes(values, context), 1),
    gpus: take('gpus', () => readGpus(values.gpus), null),
    ranks_per_node: take('ranks_per_node', () => readRanksPerNode(values.ranks_per_node), null),
    priority: values.priority,
    group: values.group,
    environment: values.environment === '' ? null : values.environment,
    env: take('env', () => parseEnv(values.env), {}),
    profile: values.profile,
    signal: take('signal', () => readSignal(values), null),
    // Left out where there are none: a service of the release before does not know the field.
    ...(values.secrets.trim() !== '' && { secrets: linesOf(values.secrets) }),
    watch: linesOf(values.watch),
    grace_s: take('grace_s', () => readGrace(values.grace_s, values.group, context.policy), null),
    time_limit_s: take('time_limit_s', () => readLimit(values.time_limit_s), null),
    hold: values.hold,
    ...readAskedFields(values, take)
  };
  return Object.keys(errors).length === 0 ? { task, errors } : { task: null, errors };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}

/** The service's field errors beside the fields of the form; the rest goes to `form`. */
export function serverErrors(
  errors: readonly IFieldError[],
  detail: string,
  values: IFormValues
): FormErrors {
  const found: FormErrors = {};
  for (const { field, message } of errors) {
    const name = field.replace(/^body\./, '').split(/[.[]/)[0] ?? '';
    if (name in values) {
      const key = name as FieldName;
      found[key] = found[key] ? `${found[key]} ${message}` : message;
    }
  }
  return Object.keys(found).length > 0 ? found : { form: detail };
}

function readName(text: string): string {
  const name = text.trim().normalize('NFC');
  if (name === '') {
    throw new Error('Give the task a name.');
  }
  if (!NAME.test(name)) {
    throw new Error(
      `Use up to ${NAME_LENGTH} letters and digits of any script, dots, dashes and underscores; begin with a letter or digit.`
    );
  }
  if (/^\p{Nd}+$/u.test(name)) {
    throw new Error('A name of digits alone would look like a task number; add a letter.');
  }
  return name;
}

function readCommand(text: string): string[] {
  const args = splitCommand(text);
  if (args.length === 0) {
    throw new Error('Say what to run, such as: python -u train.py');
  }
  return args;
}

function readFolder(text: string): string {
  const cwd = text.trim();
  if (!cwd.startsWith('/')) {
    throw new Error('Give the folder as an absolute path.');
  }
  return cwd;
}

function readNodes(values: IFormValues, context: IFormContext): number {
  const nodes = wholeNumber(values.nodes);
  if (nodes === null || nodes < 1) {
    throw new Error('Give a whole number of nodes, 1 or more.');
  }
  const cap = largestCap(values, context.quota);
  if (cap !== null && nodes > cap) {
    const at = values.priority === 'AUTO' ? trans.__('at any priority') : trans.__('at this priority');
    throw new Error(`Your quota ${at} in ${values.group} is ${cap}; ask for at most that many.`);
  }
  return nodes;
}

function readGpus(text: string): number | null {
  if (text.trim() === '') {
    return null;
  }
  const gpus = wholeNumber(text);
  if (gpus === null || gpus < 1) {
    throw new Error('Leave it empty for whole nodes, or give a whole number of GPUs, 1 or more.');
  }
  return gpus;
}

function readRanksPerNode(text: string): number | 'gpu' | null {
  const word = text.trim().toLowerCase();
  if (word === '' || word === 'gpu') {
    return word === '' ? null : 'gpu';
  }
  const each = wholeNumber(text);
  if (each === null || each < 1 || each > MAX_RANKS_PER_NODE) {
    throw new Error(
      `Leave it empty for one, give a number up to ${MAX_RANKS_PER_NODE}, or gpu for one per GPU.`
    );
  }
  return each;
}

/** What is typed for the fields that need nothing but their definition. */
export function typedValues(values: Record<AskedName, Said>): Record<AskedName, string> {
  return Object.fromEntries(
    ASKED_FIELDS.map(field => [field.name, typedAsked(field, values[field.name])])
  ) as Record<AskedName, string>;
}

type Take = <T>(field: FieldName, read: () => T, otherwise: T) => T;

function readAskedFields(values: IFormValues, take: Take): Pick<ITaskSubmit, AskedName> {
  return Object.fromEntries(
    ASKED_FIELDS.map(field => [
      field.name,
      take(field.name, () => readAsked(field, values[field.name]), field.default as Said)
    ])
  );
}

/** null: it is not a whole number. */
function wholeNumber(text: string): number | null {
  return /^\d+$/.test(text.trim()) ? Number(text) : null;
}

/** The most nodes that quota can ever allow; null: no limit, or not known, as for parts of nodes. */
function largestCap(values: IFormValues, quota: readonly IOwnQuota[]): number | null {
  if (values.gpus.trim() !== '') {
    return null;
  }
  const rows = quota.filter(
    row => row.group === values.group && (values.priority === 'AUTO' || row.priority === values.priority)
  );
  if (rows.length === 0 || rows.some(row => row.limit === null)) {
    return null;
  }
  return Math.max(...rows.map(row => row.limit ?? 0));
}

/** A length of time that the policy sets for a node group, in seconds; null: not known. */
export function policyLength(policy: IPolicy | null, name: string, group: string): number | null {
  const number = policy?.numbers.find(one => one.name === name);
  return (number?.groups[group] ?? number?.common)?.length_s ?? null;
}

function readGrace(text: string, group: string, policy: IPolicy | null): number | null {
  if (text.trim() === '') {
    return null;
  }
  const seconds = parseDuration(text);
  const longest = policyLength(policy, 'max_grace', group);
  if (longest !== null && seconds > longest) {
    throw new Error(`At most ${duration(longest)} are allowed.`);
  }
  return seconds;
}

/** `USR1`, `SIGUSR1@60`; null: what the profile says. */
function readSignal(values: IFormValues): string | null {
  if (values.signal.trim() === '') {
    return null;
  }
  const found = SIGNAL.exec(values.signal.trim().toUpperCase());
  if (found === null) {
    throw new Error('Write USR1, USR2, TERM or INT, or with the seconds before the deadline USR1@60.');
  }
  if (values.profile === 'cooperative' || values.profile === 'kill') {
    throw new Error('This way to be told sends no signal: leave it empty, or choose another way.');
  }
  const [, name = '', before = ''] = found;
  return name + before;
}

function readLimit(text: string): number | null {
  if (text.trim() === '') {
    return null;
  }
  const seconds = parseDuration(text);
  if (seconds <= 0) {
    throw new Error('Leave it empty for no limit, or give more than 0.');
  }
  return seconds;
}
