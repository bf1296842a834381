import { act, fireEvent, screen } from '@testing-library/react';
import { Widget } from '@lumino/widgets';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ClusterModel } from '../models/cluster';
import { Feed } from '../models/feed';
import { aHost, FakeStream } from '../testing/fakes';
import { StudioWidget } from './studio';

describe('Studio in JupyterLab', () => {
  let widget: StudioWidget;

  afterEach(() => act(() => widget.dispose()));

  it('shows the pages of the registry, and opens tasks and environments in tabs of their own', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const cluster = new ClusterModel({ cluster: vi.fn(), me: vi.fn() }, feed);
    const api = { nodes: vi.fn(async () => ({ items: [] })) };
    const elsewhere = { openTask: vi.fn(), openEnvironments: vi.fn() };
    widget = new StudioWidget({ page: 'nodes' }, { api: api as never, feed, cluster }, aHost(), elsewhere);
    await act(async () => Widget.attach(widget, document.body));
    await screen.findByText('There are no nodes yet.');
    expect(widget.title.label).toBe('HAI: Nodes');
    fireEvent.click(screen.getByText('Environments'));
    expect(elsewhere.openEnvironments).toHaveBeenCalledOnce();
    widget.router.go({ page: 'tasks', id: 41 });
    expect(elsewhere.openTask).toHaveBeenCalledExactlyOnceWith(41);
    expect(widget.router.route.page).toBe('nodes');
  });
});
