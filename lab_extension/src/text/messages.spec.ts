import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventKind } from '../api/constants';
import { takeMessages, type Messages } from '../page/languages';
import { aTask } from '../testing/fakes';
import { decisionText, messageText } from './messages';
import { takeCatalogue } from './translate';

const AT = '2026-11-21T08:00:00Z';

function decided(kind: string, data: Record<string, unknown>): string {
  return decisionText({ seq: 1, at: AT, kind, actor: 'bob', sentence: 'As the service says it.', data });
}

describe('what a task does', () => {
  beforeEach(() => {
    const path = 'hai_lab/locale/zh_CN/LC_MESSAGES/hai_lab.json';
    takeMessages(JSON.parse(readFileSync(path, 'utf8')) as Messages, 'zh-CN');
  });
  afterEach(() => takeCatalogue(null, 'en'));

  it('is said in Chinese, with the status codes of the service', () => {
    const ended = { state: 'failed' as const, reason: 'failed', ended_at: AT };
    expect(
      messageText(aTask({ ...ended, message: 'Failed: its command failed (rank 0 with status 1).' }))
    ).toBe('失败：命令失败（rank 0 with status 1）。');
    expect(
      messageText(
        aTask({ ...ended, message: 'Failed: its command failed (rank 0 with status 1: said (so)).' })
      )
    ).toBe('失败：命令失败（rank 0 with status 1: said (so)）。');
    expect(messageText(aTask({ ...ended, message: 'Failed: its command failed.' }))).toBe('失败：命令失败。');
    expect(messageText(aTask({ state: 'starting', node_names: ['n-1', 'n-2'] }))).toBe(
      '正在 n-1, n-2 上启动。'
    );
    const leaving = { state: 'suspending' as const, node_names: ['n-1'], deadline: '2026-11-21T08:00:40Z' };
    expect(messageText(aTask({ ...leaving, reason: null }), Date.parse(AT))).toBe(
      '正在退出 n-1；剩余保存时间 40 秒。'
    );
  });

  it('is what the service says where only the cluster knows it', () => {
    const message = 'Starting on n-1: rank 0 on n-1 waits: ImagePullBackOff.';
    expect(messageText(aTask({ state: 'starting', node_names: ['n-1'], message }))).toBe(message);
  });

  it.each([
    [EventKind.TASK_HELD, { held: true }, '被 bob 暂缓。'],
    [EventKind.TASK_HELD, { held: false }, '由 bob 解除暂缓。'],
    [EventKind.TASK_PRIORITY, { priority: 'HIGH' }, '优先级由 bob 改为高。'],
    [EventKind.TASK_STATE, { to: 'starting', run: 2, nodes: ['n-1'] }, '第 2 次运行在 n-1 上启动。'],
    [
      EventKind.TASK_VERDICT,
      { kind: 'CAPACITY', data: { needs: 2, free: 1 }, holders: [1, 2, 3, 4] },
      '需要 2 个节点；空闲 1 个节点。占用者：任务 1, 任务 2, 任务 3 及另外 1 个。'
    ],
    [EventKind.TASK_STATE, { to: 'failed' }, 'As the service says it.'],
    ['task.eclipse', {}, 'As the service says it.']
  ])('has the decision %s with %j', (kind, data, said) => {
    expect(decided(kind, data)).toBe(said);
  });
});
