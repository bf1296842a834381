/** Nodes, for tests. */

import type { IMarkPreview, INode, INodeTask } from '../api/types';

/** A free node of eight GPUs; give what differs. */
export function aNode(name: string, given: Partial<INode> = {}): INode {
  return {
    name,
    group: 'training',
    leaf: 'leaf-1',
    zone: '',
    gpus: 8,
    ready: true,
    mark: 'none',
    task_id: null,
    user: null,
    gpus_free: 8,
    tasks: [],
    orphan: null,
    state: 'free',
    reason: null,
    network: null,
    since: null,
    by: null,
    seen_at: '2026-11-21T04:00:00Z',
    ...given
  };
}

/** A task of alice's that runs on a whole node. */
export function aNodeTask(id: number, given: Partial<INodeTask> = {}): INodeTask {
  return {
    task_id: id,
    user: 'alice',
    gpus: [],
    name: `train-${id}`,
    run: 1,
    priority: 'HIGH',
    phase: 'running',
    running_since: '2026-11-21T03:00:00Z',
    deadline: null,
    use: null,
    ...given
  };
}

/** What a drain of a node would do to nobody; give what differs. */
export function aPreview(given: Partial<IMarkPreview> = {}): IMarkPreview {
  return {
    at: '2026-11-21T04:00:00Z',
    nodes: ['n-1'],
    mark: 'draining',
    sentence: '',
    displaced: [],
    staying: [],
    moved: [],
    later: [],
    later_left_out: 0,
    empty_by: null,
    computed_until: '2026-11-22T04:00:00Z',
    step_s: 60,
    assumptions: [],
    ...given
  };
}
