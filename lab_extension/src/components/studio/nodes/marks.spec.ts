import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../api/request';
import { moment } from '../../../text/format';
import { aNode, aPreview } from '../../../testing/nodes';
import { markAll, markedText, markQuestion, suitsNode } from './marks';

const NOW = Date.parse('2026-11-21T04:00:00Z');
const task = { task_id: 41, name: 'vit', user: 'alice', priority: 'HIGH' as const, nodes: 2, gpus: null };

describe('what is asked before nodes are marked', () => {
  it('says who leaves by when, where they go on, and who starts later', () => {
    const at = (hour: number): string => `2026-11-21T${String(hour).padStart(2, '0')}:00:00Z`;
    const question = markQuestion(
      aPreview({
        nodes: ['n-1', 'n-2'],
        empty_by: at(5),
        displaced: [
          {
            ...task,
            node_names: ['n-1'],
            away_by: at(5),
            goes_on_at: at(6),
            goes_on_nodes: ['n-3'],
            ends: false
          },
          {
            ...task,
            task_id: 42,
            name: '',
            user: 'bob',
            node_names: ['n-2'],
            away_by: null,
            goes_on_at: null,
            goes_on_nodes: [],
            ends: true
          }
        ],
        moved: [{ ...task, task_id: 43, at: at(6), beneficiary: 41 }],
        later: [{ ...task, task_id: 44, without: at(5), with_mark: null }],
        later_left_out: 3,
        assumptions: [
          { name: 'lengths', sentence: 'Runs last as long as their limits.', count: null, length_s: null }
        ]
      }),
      NOW
    );
    const time = (hour: number): string => moment(at(hour), NOW);
    expect(question.title).toBe('Drain 2 nodes?');
    expect(question.body).toBe(
      `n-1, n-2. 2 tasks are told to leave. The last one is away by ${time(5)} at the latest.`
    );
    const lines = Object.fromEntries(question.details!.map(list => [list.title, list.lines]));
    expect(lines['They leave']).toEqual([
      `vit (#41) of alice, 2 nodes: away by ${time(5)}; goes on about ${time(6)} on n-3`,
      '#42 of bob, 2 nodes; it ends by itself before'
    ]);
    expect(lines['They make room on other nodes']).toEqual([
      `vit (#43) of alice, 2 nodes: about ${time(6)}, for task 41`
    ]);
    expect(lines['They start later']![0]).toContain('not in the time that was computed');
    expect(lines['They start later']![1]).toBe('and 3 more');
    expect(lines['What the times rest on']).toContain('Runs last as long as their limits.');
  });

  it('says that nobody has to leave', () => {
    expect(markQuestion(aPreview({ mark: 'cordoned' }), NOW).body).toBe('n-1. No task has to leave.');
  });
});

describe('marks on many nodes', () => {
  it('are offered where they change something', () => {
    const nodes = [aNode('a'), aNode('b', { mark: 'cordoned' }), aNode('c', { mark: 'quarantined' })];
    expect(nodes.map(node => suitsNode('cordon', node))).toEqual([true, false, true]);
    expect(nodes.map(node => suitsNode('uncordon', node))).toEqual([false, true, true]);
    expect(nodes.map(node => suitsNode('drain', node))).toEqual([true, true, true]);
  });

  it('go on after a refusal, and name it', async () => {
    const mark = vi.fn(async (name: string) => {
      if (name === 'b') {
        throw new ApiError({ status: 404, code: 'not_found', detail: 'There is no node b.' });
      }
      return aNode(name);
    });
    const result = await markAll({ mark }, 'drain', ['a', 'b', 'c', 'd']);
    expect(result.done).toHaveLength(3);
    expect(markedText('drain', result)).toBe('Draining 3 nodes. Node b: There is no node b.');
  });

  it('wait as long as the service says when they come too early', async () => {
    const early = new ApiError({ status: 429, code: 'too_many', detail: 'Wait.', retryAfter: 2_000 });
    const mark = vi.fn(async (name: string) => aNode(name)).mockRejectedValueOnce(early);
    const pause = vi.fn(async () => {});
    const result = await markAll({ mark }, 'cordon', ['a'], pause);
    expect(pause).toHaveBeenCalledExactlyOnceWith(2_000);
    expect([result.done.length, result.failures]).toEqual([1, []]);
  });
});
