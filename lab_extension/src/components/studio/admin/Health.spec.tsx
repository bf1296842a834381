import { act, fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../api/request';
import type { IPlatformHealth } from '../../../api/types';
import { takeCatalogue } from '../../../text/translate';
import { showPage } from '../../../testing/studio';
import { healthFacts, HealthPage } from './Health';

function someHealth(given: Partial<IPlatformHealth> = {}): IPlatformHealth {
  return {
    status: 'ok',
    scheduler: {
      deciding: true,
      detail: null,
      paused: false,
      leader: 'loop-1',
      lease_until: null,
      last_tick: null,
      last_tick_s: 62,
      ticks: 1200,
      tick_p50_s: 0.0124,
      tick_p95_s: 0.2
    },
    database: { reachable: true, kind: 'sqlite', answer_s: 0.001, size: 0.34 * 2 ** 20, revision: 'r0018' },
    cluster: { reachable: false, answer_s: null, nodes: { ready: 4 } },
    versions: { scheduler: '0.1.0', hub: null },
    alarms: [],
    doubled_uids: [],
    ...given
  };
}

describe('the health of the platform', () => {
  it('is told by part, with a dash for what is not known', () => {
    const facts = Object.fromEntries(
      healthFacts(someHealth()).map(([part, each]) => [part, Object.fromEntries(each)])
    );
    expect(facts.Scheduler).toMatchObject({
      Decides: 'yes',
      'Last tick': '1 min 2 s ago',
      Ticks: '1,200',
      'Half of the ticks within': '12 ms'
    });
    expect(facts.Database).toMatchObject({ Answers: 'yes', Size: '0.3 MiB' });
    expect(facts.Cluster).toEqual({ Answers: 'no', 'Answer time': '–', 'Nodes: ready': '4' });
    expect(facts.Versions).toEqual({ scheduler: '0.1.0', hub: '–' });
  });

  it('says that all is well, and that no alarm is in force', async () => {
    showPage(<HealthPage />, { admin: { health: async () => someHealth() } });
    expect(await screen.findByText('All is well')).toBeTruthy();
    expect(screen.getByText('No alarm is in force.')).toBeTruthy();
  });

  it('tells alarms with their severity in words, what is known and what to do', async () => {
    const alarm = {
      name: 'HaiNodesLost',
      severity: 'critical' as const,
      summary: 'Nodes do not answer',
      detail: 'Nodes of group a: 1; their tasks go on elsewhere.',
      group: 'a',
      count: 1,
      runbook: 'runbooks/HaiNodesLost.md'
    };
    const health = someHealth({ status: 'degraded', alarms: [alarm] });
    showPage(<HealthPage />, { admin: { health: async () => health } });
    expect(await screen.findByText('Something is wrong')).toBeTruthy();
    const alarms = screen.getByRole('region', { name: 'Alarms in force' });
    expect(within(alarms).getByRole('alert').textContent).toBe(
      'HaiNodesLost (critical): Nodes do not answer. Nodes of group a: 1; their tasks go on elsewhere. What to do'
    );
    fireEvent.click(within(alarms).getByRole('link', { name: 'What to do' }));
    expect((await screen.findByRole('heading', { level: 1 })).textContent).toBe('HaiNodesLost');
    expect(screen.getByTestId('hai-runbook').textContent).toMatch('hai admin cordon NODE');
    fireEvent.click(screen.getByRole('link', { name: 'Health' }));
    expect(await screen.findByText('Something is wrong')).toBeTruthy();
  });

  it('names users who have one number', async () => {
    const health = someHealth({ status: 'degraded', doubled_uids: [{ uid: 20017, users: ['ada', 'bob'] }] });
    showPage(<HealthPage />, { admin: { health: async () => health } });
    expect((await screen.findByText(/have one uid/)).textContent).toMatch('ada, bob have one uid, 20017');
  });

  it('names the page of an alarm of which it has no runbook', async () => {
    const name = 'HaiOfTomorrow';
    const alarm = {
      name,
      severity: 'info' as const,
      summary: 'New',
      detail: '',
      group: null,
      count: null,
      runbook: `runbooks/${name}.md`
    };
    showPage(<HealthPage />, { admin: { health: async () => someHealth({ alarms: [alarm] }) } });
    expect((await screen.findByRole('region', { name: 'Alarms in force' })).textContent).toMatch(
      'What to do: runbooks/HaiOfTomorrow.md in the documentation.'
    );
  });

  it('has all runbooks, whose links lead to each other, and says which there is not', async () => {
    const { router } = showPage(<HealthPage />, { query: { runbook: 'HaiApiSlow' } });
    fireEvent.click(screen.getByRole('link', { name: 'HaiDatabaseSlow' }));
    expect((await screen.findByRole('heading', { level: 1 })).textContent).toBe('HaiDatabaseSlow');
    act(() => router.go({ page: 'health', query: { runbook: 'constructor' } }));
    expect(screen.getByRole('alert').textContent).toBe(
      'No runbook is called “constructor”: Health lists them all.'
    );
  });

  it.each([
    ['zh-CN', 'zh-CN', '节点没有应答。'],
    ['fr-FR', 'en', 'Nodes do not answer.']
  ])('has a runbook in the language %s as far as there is one: %s', (tag, shown, text) => {
    takeCatalogue(null, tag);
    try {
      showPage(<HealthPage />, { query: { runbook: 'HaiNodesLost' } });
      expect(screen.getByTestId('hai-runbook').lang).toBe(shown);
      expect(screen.getByText(text)).toBeTruthy();
    } finally {
      takeCatalogue(null, 'en');
    }
  });

  it('says why it is not known', async () => {
    const error = new ApiError({ status: 403, code: 'forbidden', detail: 'That needs custom:hai:admin.' });
    showPage(<HealthPage />, { admin: { health: () => Promise.reject(error) } });
    expect((await screen.findByRole('alert')).textContent).toBe('That needs custom:hai:admin.');
  });
});
