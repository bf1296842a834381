/** A mount rule as it is written in a form, and in words. Pure functions. */

import type { MountValue } from '../../../api/admin';
import type { IMountRule } from '../../../api/types';
import { trans } from '../../../text/translate';
import { numberedOf } from './values';

/** The fields of the form. */
export interface IMountDraft {
  subject: string;
  /** `remove`, or the kind of what is mounted. */
  what: 'host_path' | 'pvc' | 'remove';
  source: string;
  mountPath: string;
  write: boolean;
  priority: string;
  /** Empty: all nodes. */
  nodeGroup: string;
  description: string;
}

/** A folder for everybody that is still to be named. */
const NEW: MountValue = {
  subject: 'public',
  action: 'add',
  kind: 'host_path',
  source: '',
  mount_path: '',
  read_only: true,
  priority: 0,
  node_group: null,
  description: ''
};

/** A rule as a form has it; null: a new one. */
export function mountDraftOf(rule: MountValue | null): IMountDraft {
  const from = rule ?? NEW;
  return {
    subject: from.subject,
    what: from.action === 'remove' ? 'remove' : (from.kind ?? 'host_path'),
    source: from.source,
    mountPath: from.mount_path,
    write: !from.read_only,
    priority: String(from.priority),
    nodeGroup: from.node_group ?? '',
    description: from.description
  };
}

/** What a form says. What is no number goes to the service as it is, whose words say what is wrong. */
export function mountValueOf(draft: IMountDraft): MountValue {
  const removes = draft.what === 'remove';
  return {
    subject: draft.subject.trim(),
    action: removes ? 'remove' : 'add',
    kind: draft.what === 'remove' ? null : draft.what,
    source: removes ? '' : draft.source.trim(),
    mount_path: draft.mountPath.trim(),
    read_only: removes || !draft.write,
    priority: (numberedOf(draft.priority) ?? 0) as number,
    node_group: draft.nodeGroup === '' ? null : draft.nodeGroup,
    description: draft.description.trim()
  };
}

/** What is mounted, or that nothing is. */
export function sourceWords(rule: Pick<IMountRule, 'action' | 'kind' | 'source'>): string {
  if (rule.action === 'remove') {
    return trans.__('nothing is mounted');
  }
  return rule.kind === 'pvc' ? trans.__('claim %1', rule.source) : trans.__('folder %1', rule.source);
}

export function accessWords(readOnly: boolean): string {
  return readOnly ? trans.__('read only') : trans.__('read and write');
}

/** `group:ml, /datasets: claim datasets/vision, read only, priority 0, all nodes`. */
export function mountWords(rule: MountValue): string {
  return trans.__(
    '%1, %2: %3, %4, priority %5, %6',
    rule.subject,
    rule.mount_path,
    sourceWords(rule),
    accessWords(rule.read_only),
    rule.priority,
    rule.node_group === null ? trans.__('all nodes') : trans.__('nodes of %1', rule.node_group)
  );
}
