import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IHolder, IShortWait, IVerdict } from '../api/types';
import { takeMessages, type Messages } from '../page/languages';
import { aChange } from '../testing/fakes';
import { changeText, shareText } from './changes';
import { takeCatalogue } from './translate';
import { shortText, verdictText } from './verdicts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const LATER = '2026-11-21T08:12:00Z';
const TASK = { effective_priority: 'HIGH' as const, nodes: 2, gpus: null };
const BOB: IHolder = { task_id: 41, name: '', user: 'bob', priority: 'HIGH', nodes: 2, gpus: null };

function verdict(kind: string, data: Record<string, unknown> = {}, holders: IHolder[] = []): IVerdict {
  return {
    kind: kind as IVerdict['kind'],
    sentence: 'As the service says it.',
    position: 1,
    earliest_start: null,
    data,
    holders,
    holder_count: holders.length
  };
}

function chinese(): void {
  const path = 'hai_lab/locale/zh_CN/LC_MESSAGES/hai_lab.json';
  takeMessages(JSON.parse(readFileSync(path, 'utf8')) as Messages, 'zh-CN');
}

describe('why a task waits, in English', () => {
  it('is what the service says', () => {
    expect(verdictText(verdict('HELD'), TASK)).toBe('As the service says it.');
    const short: IShortWait = { id: 'held', data: {}, until: null, text: 'held by its owner' };
    expect(shortText(short)).toBe('held by its owner');
    expect(changeText(aChange(), TASK)).toBe('At HIGH it would start now.');
  });
});

describe('why a task waits, in Chinese', () => {
  beforeEach(chinese);
  afterEach(() => takeCatalogue(null, 'en'));

  it.each([
    [
      'QUOTA',
      { needs: 2, used: 7.5, limit: 8, subject: 'user:ann' },
      [BOB],
      '需要 2 个节点，但 user:ann 的配额在优先级“高”下允许的 8 个节点中已使用 7.5 个。使用者：bob 的任务 41（高，2 个节点）。'
    ],
    [
      'CAPACITY',
      { needs: 2, free: 1 },
      [BOB],
      '需要 2 个节点；空闲 1 个节点。占用者：bob 的任务 41（高，2 个节点）。'
    ],
    [
      'CAPACITY',
      { needs: 1, gpus: 4, free: 0 },
      [],
      '需要 1 个节点 × 4 个 GPU；空闲 0 个节点。其余的目前不可用。'
    ],
    [
      'TURN',
      { needs: 2, free: 0 },
      [],
      '需要 2 个节点；空闲 0 个节点。优先级相同、可占用到轮次结束：优先级相同的任务。'
    ],
    [
      'TOPOLOGY',
      { needs: 4, free: 5, together: 3 },
      [],
      '需要彼此邻近的 4 个节点；空闲 5 个节点，但同一区域内最多 3 个，且跨区域的任务数已达上限。'
    ],
    ['RETRY', { retries: 1, of: 3 }, [], '命令失败。第 1 次重试（共 3 次）正在等待轮次。'],
    [
      'RETRY',
      { starts: 1, of: 3, why: 'No image.' },
      [],
      '无法启动：No image。第 2 次启动（共 3 次）正在等待轮次。'
    ],
    [
      'NEVER',
      { needs: 9, cap: 8, cause: 'group' },
      [],
      '无法启动：需要 9 个节点，但其节点组只有 8 个；请减少节点数后提交。'
    ],
    ['HELD', {}, [], '已被所有者暂缓；恢复后参与排队。'],
    ['PAUSED', {}, [], '平台已暂停；管理员恢复后继续。'],
    ['NEXT', {}, [], '即将处理。']
  ])('is said for %s with %j', (kind, data, holders, said) => {
    expect(verdictText(verdict(kind, data, holders), TASK, NOW)).toBe(said);
  });

  it.each([
    [
      'RESERVED',
      { needs: 2, until: LATER },
      /^需要 2 个节点；空闲的节点已预留给 bob 的任务 41（高，2 个节点），直到 .*（12 分钟后）。$/
    ],
    ['DRAINING', { needs: 2, deadline: LATER }, /^节点空闲后启动，最迟 .*（12 分钟后）。正在保存并退出：bob/],
    ['TURN', { needs: 2, free: 0, until: LATER }, /可占用到 .*（12 分钟后）：bob/]
  ])('has the time of %s', (kind, data, said) => {
    expect(verdictText(verdict(kind, data, [BOB]), TASK, NOW)).toMatch(said);
  });

  it('is what the service says where the kind or its data are not known', () => {
    expect(verdictText(verdict('ECLIPSE'), TASK, NOW)).toBe('As the service says it.');
    expect(verdictText(verdict('CAPACITY', { needs: 'two' }), TASK, NOW)).toBe('As the service says it.');
  });

  it('names three holders, and says how many more there are', () => {
    const many = { ...verdict('CAPACITY', { needs: 2, free: 0 }, [BOB, BOB, BOB, BOB]), holder_count: 12 };
    expect(verdictText(many, TASK, NOW)).toContain('及另外 9 个');
  });

  it('is short in a list', () => {
    const short = (id: string, data: object): string =>
      shortText({ id, data, until: null, text: 'as it is' } as IShortWait, NOW);
    expect(short('capacity', { nodes: 2, gpus: null, group: 'v100' })).toBe('等待 v100 的 2 个节点');
    expect(short('retry', { retry: 2, of: 3 })).toBe('等待第 2 次重试（共 3 次）');
    expect(short('eclipse', {})).toBe('as it is');
  });

  it('says what would change it', () => {
    expect(changeText(aChange(), TASK, NOW)).toBe('若优先级为“高”：会立即启动。');
    const share = { user: 'ann', node_group: 'v100', given: 0.62, weight: 1, weights: 4, entitled: 0.25 };
    expect(shareText({ ...share, users_before: 2, sentence: '' })).toBe(
      'ann 近期占节点组 v100 使用量的 62 %，应得 25 %（权重 1 / 4）。有 2 个用户按权重计算用得更少；优先级和级别相同时，他们的任务在前。'
    );
  });
});
